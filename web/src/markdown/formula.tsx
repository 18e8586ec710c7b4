// Formulas as MathML. Temml's tree is made into elements here: what it may name is listed, so that a
// formula can neither link, load, nor run anything.
import type temml from "temml";
import { h } from "preact";
import type { VNode } from "preact";
import { formulas, useLate } from "../ui/late.ts";
import { memo } from "../ui/memo.ts";

const kElements = new Set([
  "math", "mrow", "mi", "mo", "mn", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot",
  "mover", "munder", "munderover", "mmultiscripts", "mprescripts", "mtable", "mtr", "mtd", "mlabeledtr", "mstyle",
  "mpadded", "mphantom", "menclose", "merror", "none",
]);
const kAttributes = new Set([
  "display", "mathvariant", "stretchy", "symmetric", "fence", "separator", "form", "lspace", "rspace", "minsize",
  "maxsize", "largeop", "movablelimits", "accent", "accentunder", "linethickness", "width", "height", "depth",
  "voffset", "displaystyle", "scriptlevel", "columnalign", "rowspacing", "columnspacing", "columnlines", "rowlines",
  "notation", "columnspan", "rowspan",
]);
const kStyles = new Set([
  "color", "backgroundColor", "mathColor", "textAlign", "paddingLeft", "paddingRight", "padding", "fontSize",
  "fontStyle", "fontWeight", "fontFamily", "borderBottom", "borderTop", "borderRight", "borderLeft", "border",
  "textDecoration", "verticalAlign", "marginLeft", "marginRight", "width", "height", "mathDepth", "mathStyle",
  "mathShift",
]);

interface Tree {
  type?: string;
  text?: string;
  attributes?: Record<string, unknown>;
  classes?: string[];
  style?: Record<string, string>;
  children?: Tree[];
}

const kMostNodes = 5000;
const kDeepest = 200;

function element(tree: Tree, budget: { left: number }, depth: number): VNode | string {
  if (--budget.left < 0 || depth > kDeepest) throw new Error("the formula is too large");
  if (tree.children === undefined) return tree.text ?? "";
  const children = tree.children.map((child) => element(child, budget, depth + 1));
  const type = tree.type ?? "mrow";
  const props: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(tree.attributes ?? {})) {
    if (kAttributes.has(name)) props[name] = String(value);
  }
  const style: Record<string, string> = {};
  for (const [name, value] of Object.entries(tree.style ?? {})) {
    // No url(), whatever a formula asks for.
    if (kStyles.has(name) && !/[(;\\]/.test(String(value))) style[name] = String(value);
  }
  if (Object.keys(style).length > 0) props.style = style;
  const classes = (tree.classes ?? []).filter((name) => /^tml-[\w-]+$/.test(name));
  if (classes.length > 0) props.class = classes.join(" ");
  return h(kElements.has(type) ? type : "mrow", props, ...children);
}

function made(reader: typeof temml, text: string, display: boolean): VNode | string | undefined {
  try {
    const tree = reader.__renderToMathMLTree(text, {
      displayMode: display,
      throwOnError: true,
      trust: false,
      strict: false,
      maxSize: [20, 20],
      maxExpand: 200,
    }) as Tree;
    return element(tree, { left: kMostNodes }, 0);
  } catch {
    return undefined;
  }
}

// One that cannot be read, or not yet, is shown as it was written.
export const Formula = memo(({ text, display }: { text: string; display: boolean }) => {
  const reader = useLate(formulas);
  const math = reader ? made(reader, text, display) : undefined;
  if (math === undefined) return <code class="formula-source">{display ? `$$${text}$$` : `$${text}$`}</code>;
  return display ? <div class="formula" tabIndex={0} role="group" aria-label="formula">{math}</div> : <span>{math}</span>;
});
