// The server in numbers, read every two seconds while the view is visible.
import { useEffect, useState } from "preact/hooks";
import { ApiFailure, metricsText } from "../core/api.ts";
import { readMetrics, total } from "../core/prometheus.ts";
import { Plot, shortNumber } from "./plot.tsx";
import { History, routes, tenants } from "./series.ts";

const kEveryMs = 2000;
// Its readings stay when another view is shown.
const history = new History();

function useReadings(): { n: number; fault: string } {
  const [state, setState] = useState({ n: 0, fault: "" });
  useEffect(() => {
    const control = new AbortController();
    let isReading = false;
    const read = async () => {
      if (document.hidden || isReading) return;
      isReading = true;
      try {
        history.add(readMetrics(await metricsText(control.signal)), Date.now());
        setState((before) => ({ n: before.n + 1, fault: "" }));
      } catch (error) {
        if (control.signal.aborted) return;
        const fault = error instanceof ApiFailure ? error.message : String(error);
        setState((before) => ({ n: before.n, fault }));
      } finally {
        isReading = false;
      }
    };
    void read();
    const timer = setInterval(() => void read(), kEveryMs);
    return () => {
      clearInterval(timer);
      control.abort();
    };
  }, []);
  return state;
}

function Figure({ label, value, unit }: { label: string; value: number | undefined; unit: string }) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        {value === undefined ? "–" : shortNumber(value)} <span class="faint">{unit}</span>
      </dd>
    </div>
  );
}

const share = (part: number | undefined, whole: number | undefined) =>
  part !== undefined && whole ? (100 * part) / whole : undefined;

function Figures() {
  const now = history.latest;
  return (
    <dl class="figures">
      <Figure label="Generated" value={total(now, "ruvllm_generated_tokens_total")} unit="tokens" />
      <Figure label="Prompts" value={total(now, "ruvllm_prompt_tokens_total")} unit="tokens" />
      <Figure
        label="Reused from cache"
        value={share(total(now, "ruvllm_cached_prompt_tokens_total"), total(now, "ruvllm_prompt_tokens_total"))}
        unit="%"
      />
      <Figure
        label="Drafts right"
        value={share(total(now, "ruvllm_accepted_draft_tokens_total"), total(now, "ruvllm_draft_tokens_total"))}
        unit="%"
      />
      <Figure label="First token" value={history.percentileOfAll("first", 0.5)} unit="ms, median" />
      <Figure label="Between tokens" value={history.percentileOfAll("between", 0.5)} unit="ms, median" />
    </dl>
  );
}

const percentiles = (name: "first" | "between" | "request") =>
  ([0.5, 0.95, 0.99] as const).map((q) => ({ name: `p${q * 100}`, points: history.percentile(name, q) }));

function Tenants() {
  const rows = tenants(history.latest);
  if (rows.length === 0) return <p class="hint">No request has named a user.</p>;
  return (
    <div class="table" tabIndex={0} role="group" aria-label="Tenants">
      <table>
        <thead>
          <tr>
            <th>User</th>
            <th class="side-right">Prompt tokens</th>
            <th class="side-right">Reused</th>
            <th class="side-right">Generated</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 50).map((row) => (
            <tr key={row.name}>
              <td>{row.name}</td>
              <td class="side-right">{row.prompt.toLocaleString("en")}</td>
              <td class="side-right">{row.cached.toLocaleString("en")}</td>
              <td class="side-right">{row.generated.toLocaleString("en")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Requests() {
  return (
    <div class="table" tabIndex={0} role="group" aria-label="Requests">
      <table>
        <thead>
          <tr>
            <th>Endpoint</th>
            <th>Status</th>
            <th class="side-right">Requests</th>
          </tr>
        </thead>
        <tbody>
          {routes(history.latest).slice(0, 30).map((row) => (
            <tr key={`${row.route} ${row.status}`}>
              <td>
                <code>{row.route}</code>
              </td>
              <td>{row.status}</td>
              <td class="side-right">{row.count.toLocaleString("en")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function MetricsView() {
  const { fault } = useReadings();
  return (
    <div class="metrics" tabIndex={0} role="region" aria-label="Metrics">
      <div class="wide">
        {fault && (
          <div class="fault" role="alert">
            <span>{fault}</span>
          </div>
        )}
        <Figures />
        <div class="plots">
          <Plot
            title="Throughput"
            unit="tokens/s"
            series={[
              { name: "generated", points: history.rate("generated") },
              { name: "prompt", points: history.rate("prompt") },
              { name: "of it reused", points: history.rate("cached") },
            ]}
          />
          <Plot
            title="Requests"
            unit="now"
            series={[
              { name: "running", points: history.gauge("running") },
              { name: "waiting", points: history.gauge("waiting") },
            ]}
          />
          <Plot title="Time to the first token" unit="ms, of the last 30 s" series={percentiles("first")} />
          <Plot title="Time between tokens" unit="ms, of the last 30 s" series={percentiles("between")} />
          <Plot title="Whole requests" unit="ms, of the last 30 s" series={percentiles("request")} />
          <Plot
            title="Pages of keys and values"
            unit="by tier"
            isStacked
            series={(["cached", "free", "disk"] as const).map((name) => ({ name, points: history.gauge(name) }))}
          />
        </div>
        <section class="rows">
          <h3>Tenants</h3>
          <Tenants />
        </section>
        <section class="rows">
          <h3>Requests</h3>
          <Requests />
        </section>
      </div>
    </div>
  );
}
