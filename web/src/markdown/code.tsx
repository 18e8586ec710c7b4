import { useEffect, useState } from "preact/hooks";
import { memo } from "../ui/memo.ts";
import { copyText } from "../ui/copy.ts";
import { Icon } from "../ui/icons.tsx";
import { highlight, languageOf } from "./highlight.ts";

// Longer code has no colours, and at once only what takes a few milliseconds has.
const kMostAtOnce = 6_000;
const kMost = 60_000;

function Coloured({ code, language }: { code: string; language: string }) {
  const known = languageOf(language);
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!known || code.length <= kMostAtOnce || code.length > kMost) return;
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, [code, known]);
  if (!known || code.length > kMost || (code.length > kMostAtOnce && !isLate)) return <>{code}</>;
  return (
    <>
      {highlight(code, known).map((span, i) =>
        span.scope ? (
          <span key={i} class={`hl-${span.scope}`}>
            {span.text}
          </span>
        ) : (
          span.text
        ),
      )}
    </>
  );
}

export const CodeBlock = memo(({ code, language }: { code: string; language: string }) => {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await copyText(code));
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <figure class="code">
      <figcaption>
        <span>{language.slice(0, 30) || "text"}</span>
        <button type="button" class="quiet" onClick={() => void copy()} aria-label="Copy code">
          <Icon name={isCopied ? "check" : "copy"} />
          <span>{isCopied ? "Copied" : "Copy"}</span>
        </button>
      </figcaption>
      <pre tabIndex={0} aria-label={`Code${language ? ` in ${language.slice(0, 30)}` : ""}`}>
        <code>
          <Coloured code={code} language={language} />
        </code>
      </pre>
    </figure>
  );
});
