// What is not seen at first: what the server keeps and has answered, in numbers too, and the settings of
// answers.
export { AuditView } from "../audit/view.tsx";
export { MemoryView } from "../memory/view.tsx";
export { MetricsView } from "../metrics/view.tsx";
export { Panel } from "./panel.tsx";
