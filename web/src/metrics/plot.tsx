// A plot of a few lines over time, or of areas above each other.
import type { Point, Series } from "./series.ts";

const kWidth = 560;
const kHeight = 150;
const kLeft = 44;
const kTop = 10;
const kBottom = 20;

// 1, 2 or 5 times a power of ten, not below `value`.
function niceAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((n) => n * power >= value * 0.9999) ?? 10);
}

export function shortNumber(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(0)}k`;
  if (value >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value >= 1 ? value.toFixed(1) : value.toPrecision(2);
}

function stacked(series: Series[]): Series[] {
  const sums: number[] = [];
  return series.map(({ name, points }) => ({
    name,
    points: points.map((point, i) => ({ at: point.at, value: (sums[i] = (sums[i] ?? 0) + (point.value ?? 0)) })),
  }));
}

interface Axis {
  from: string;
  to: string;
  said: string;
}

// `axis`: what the time goes from and to; else it ends now, and the legend has the last values.
export function Plot(props: { title: string; unit: string; series: Series[]; isStacked?: boolean; axis?: Axis }) {
  const drawn = props.isStacked ? stacked(props.series) : props.series;
  const all = drawn.flatMap((s) => s.points);
  const from = Math.min(...all.map((p) => p.at));
  const to = Math.max(...all.map((p) => p.at), from + 1000);
  const most = niceAbove(Math.max(0, ...all.map((p) => p.value ?? 0)));
  const x = (point: Point) => kLeft + ((point.at - from) / (to - from)) * (kWidth - kLeft - 4);
  const y = (value: number) => kTop + (1 - value / most) * (kHeight - kTop - kBottom);
  const line = (points: Point[]) => {
    let path = "";
    let isDown = false;
    for (const point of points) {
      if (point.value === undefined) {
        isDown = false;
        continue;
      }
      // A line of no length, so that a point without neighbours is a dot.
      path += `${isDown ? "L" : "M"}${x(point).toFixed(1)} ${y(point.value).toFixed(1)}${isDown ? "" : "h0"}`;
      isDown = true;
    }
    return path;
  };
  const figure = (of: Series) => of.whole ?? of.points[of.points.length - 1]?.value;
  const area = (of: Series) => {
    const path = line(of.points);
    const ends = of.points;
    return path && `${path}L${x(ends[ends.length - 1]!).toFixed(1)} ${y(0)}L${x(ends[0]!).toFixed(1)} ${y(0)}Z`;
  };
  const isEmpty = all.length < 2;
  return (
    <section class="plot">
      <h3>
        {props.title} <span class="faint">{props.unit}</span>
      </h3>
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} role="img" aria-label={`${props.title}, ${props.unit}, ${props.axis?.said ?? "over the last minutes"}`}>
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <path class="grid" d={`M${kLeft} ${y(part * most)}H${kWidth - 4}`} />
            <text class="tick" x={kLeft - 8} y={y(part * most) + 3.5} text-anchor="end">
              {shortNumber(part * most)}
            </text>
          </g>
        ))}
        {!isEmpty && props.isStacked && drawn.map((s, i) => <path key={s.name} class={`area line-${i}`} d={area(s)} />).reverse()}
        {!isEmpty && drawn.map((s, i) => <path key={s.name} class={`line line-${i}`} d={line(s.points)} />)}
        {!isEmpty && (
          <>
            <text class="tick" x={kLeft} y={kHeight - 4}>
              {props.axis?.from ?? `${Math.round((to - from) / 1000)} s ago`}
            </text>
            <text class="tick" x={kWidth - 4} y={kHeight - 4} text-anchor="end">
              {props.axis?.to ?? "now"}
            </text>
          </>
        )}
      </svg>
      <ul class="legend">
        {props.series.map((s, i) => (
          <li key={s.name} class={`line-${i}`}>
            <i /> {s.name} <b>{figure(s) === undefined ? "–" : shortNumber(figure(s)!)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}
