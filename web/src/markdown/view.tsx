// Markdown's tokens as elements.
import { Fragment, h } from "preact";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Token, Tokens } from "marked";
import { memo } from "../ui/memo.ts";
import { CodeBlock } from "./code.tsx";
import { Formula } from "./formula.tsx";
import { useNear, useTurn } from "../ui/near.ts";
import { GrowingMarkdown, safeAddress, withEntities } from "./parse.ts";
import type { FormulaToken, Part } from "./parse.ts";
import { kMostText } from "./pieces.ts";

const kDeepest = 24;

function Link({ href, title, children }: { href: string; title?: string | null; children: ComponentChildren }) {
  const address = safeAddress(href);
  if (!address) return <>{children}</>;
  return (
    <a href={address} title={title || undefined} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

// An image is an address elsewhere: it is named, and not loaded.
function Picture({ href, text }: { href: string; text: string }) {
  return (
    <span class="picture">
      image: <Link href={href}>{withEntities(text) || href.slice(0, 100)}</Link>
    </span>
  );
}

function inline(tokens: Token[] | undefined, depth: number): ComponentChildren {
  return (tokens ?? []).map((token, i) => <Fragment key={i}>{inlineOne(token, depth)}</Fragment>);
}

function inlineOne(token: Token, depth: number): ComponentChildren {
  if (depth > kDeepest) return token.raw;
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens, depth + 1)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens, depth + 1)}</em>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens, depth + 1)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const link = token as Tokens.Link;
      return (
        <Link href={withEntities(link.href)} title={link.title ?? null}>
          {inline(link.tokens, depth + 1)}
        </Link>
      );
    }
    case "image":
      return <Picture href={withEntities((token as Tokens.Image).href)} text={(token as Tokens.Image).text} />;
    case "formula":
      return <Formula text={(token as FormulaToken).text} display={(token as FormulaToken).display} />;
    case "text":
    case "escape": {
      const text = token as Tokens.Text;
      return text.tokens ? inline(text.tokens, depth + 1) : withEntities(text.text);
    }
    case "checkbox":
      return null; // its item has it
    default:
      return token.raw; // markup too
  }
}

function Table({ token, depth }: { token: Tokens.Table; depth: number }) {
  const side = (i: number) => (token.align[i] ? `side-${token.align[i]}` : undefined);
  return (
    <div class="table" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, i) => (
              <th key={i} class={side(i)}>
                {inline(cell.tokens, depth + 1)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, r) => (
            <tr key={r}>
              {row.map((cell, i) => (
                <td key={i} class={side(i)}>
                  {inline(cell.tokens, depth + 1)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function List({ token, depth }: { token: Tokens.List; depth: number }) {
  const items = token.items.map((item, i) => (
    <li key={i} class={item.task ? "task" : undefined}>
      {item.task && <span class="box" role="img" aria-label={item.checked ? "done" : "to do"} data-done={item.checked} />}
      {item.tokens.map((child, k) => (
        <Fragment key={k}>{block(child, depth + 1)}</Fragment>
      ))}
    </li>
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={typeof token.start === "number" ? token.start : undefined}>{items}</ol>;
}

function block(token: Token, depth: number): ComponentChildren {
  if (depth > kDeepest) return <p>{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens, depth)}</p>;
    case "heading": {
      const heading = token as Tokens.Heading;
      // The page has h1 and h2 of its own.
      return h(`h${Math.min(heading.depth + 2, 6)}`, { class: `level-${heading.depth}` }, inline(heading.tokens, depth));
    }
    case "code":
      return <CodeBlock code={(token as Tokens.Code).text} language={((token as Tokens.Code).lang ?? "").split(/\s/)[0] ?? ""} />;
    case "blockquote":
      return (
        <blockquote>
          {(token as Tokens.Blockquote).tokens.map((child, i) => (
            <Fragment key={i}>{block(child, depth + 1)}</Fragment>
          ))}
        </blockquote>
      );
    case "list":
      return <List token={token as Tokens.List} depth={depth} />;
    case "table":
      return <Table token={token as Tokens.Table} depth={depth} />;
    case "hr":
      return <hr />;
    case "formula":
      return <Formula text={(token as FormulaToken).text} display />;
    case "html":
      return <p class="as-written">{token.raw}</p>;
    default:
      return inlineOne(token, depth);
  }
}

// `nLinks`: that were known when it was parsed.
const Block = memo(
  ({ token }: { token: Token; nLinks: number }) => <>{block(token, 0)}</>,
  (a, b) => a.token === b.token || (a.nLinks === b.nLinks && a.token.type === b.token.type && a.token.raw === b.token.raw),
);

// More characters than these are not shown at once, but a part after the other, those first that are
// near what is visible.
const kAtOnce = 6_000;
const kPixelsOfLine = 26;

const PartView = memo(({ part, atOnce }: { part: Part; atOnce: boolean }) => {
  const ref = useRef<HTMLDivElement>(null);
  const { text } = part.piece;
  const isShown = useTurn(useNear(ref, atOnce), atOnce);
  if (!isShown) {
    const height = kPixelsOfLine * (1 + text.length / 90);
    return (
      <div ref={ref} class="far part" style={{ containIntrinsicSize: `auto ${height.toFixed(0)}px` }}>
        {text}
      </div>
    );
  }
  return (
    <div ref={ref} class="part">
      {part.tokens.map((token, i) => (
        <Block key={i} token={token} nLinks={part.nLinks} />
      ))}
    </div>
  );
});

// `isGrowing`: it is being written, and only its last part is new.
export const Markdown = memo(({ text, isGrowing }: { text: string; isGrowing: boolean }) => {
  const growing = useRef<GrowingMarkdown | null>(null);
  growing.current ??= new GrowingMarkdown();
  const parts = useMemo(() => growing.current!.parts(text, !isGrowing), [text, isGrowing]);
  let shown = 0;
  return (
    <div class="prose">
      {growing.current.isTooLong && (
        <p class="note">Longer than {kMostText.toLocaleString("en")} characters: shown as it was written.</p>
      )}
      {parts.map((part, i) => {
        const atOnce = isGrowing ? i >= parts.length - 2 || shown < kAtOnce : shown < kAtOnce;
        shown += part.piece.text.length;
        return <PartView key={i} part={part} atOnce={atOnce} />;
      })}
    </div>
  );
});
