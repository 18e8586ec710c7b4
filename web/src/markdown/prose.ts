// What shows the text of answers: Markdown, and code with colours.
export { CodeBlock } from "./code.tsx";
export { Markdown } from "./view.tsx";
