// Colours of code. A language is prepared when its first code is shown.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const kLanguages = { bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, python, rust, sql, typescript, xml, yaml };
type Language = keyof typeof kLanguages;

const kNames: Record<string, Language> = {
  sh: "bash", shell: "bash", zsh: "bash", console: "bash", "c++": "cpp", cc: "cpp", hpp: "cpp", h: "cpp", cs: "csharp",
  patch: "diff", golang: "go", toml: "ini", js: "javascript", jsx: "javascript", mjs: "javascript", py: "python",
  python3: "python", rs: "rust", ts: "typescript", tsx: "typescript", html: "xml", svg: "xml", yml: "yaml",
};

export function languageOf(word: string): Language | undefined {
  const name = word.toLowerCase();
  if (Object.hasOwn(kLanguages, name)) return name as Language;
  return Object.hasOwn(kNames, name) ? kNames[name] : undefined;
}

export interface Span {
  scope: string; // of the innermost; "": none
  text: string;
}

const kEscapes: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };
const unescaped = (text: string): string => text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (escape) => kEscapes[escape]!);

// Its markup has nothing but spans with a class, which are read here instead of being given to the
// browser.
export function highlight(code: string, language: Language): Span[] {
  if (!hljs.getLanguage(language)) hljs.registerLanguage(language, kLanguages[language]);
  const markup = hljs.highlight(code, { language, ignoreIllegals: true }).value;
  const spans: Span[] = [];
  const scopes: string[] = [];
  const pattern = /<span class="hljs-([\w-]*)[^"]*">|<span[^>]*>|<\/span>|[^<]+/g;
  for (const found of markup.matchAll(pattern)) {
    const part = found[0];
    if (part.startsWith("<span")) scopes.push(found[1] ?? scopes[scopes.length - 1] ?? "");
    else if (part === "</span>") scopes.pop();
    else spans.push({ scope: scopes[scopes.length - 1] ?? "", text: unescaped(part) });
  }
  return spans;
}
