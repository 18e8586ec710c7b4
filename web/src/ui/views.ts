// What is not seen at first: the server in numbers, what it keeps, and the settings of answers.
export { MemoryView } from "../memory/view.tsx";
export { MetricsView } from "../metrics/view.tsx";
export { Panel } from "./panel.tsx";
