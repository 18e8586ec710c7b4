// What is not seen at first: the server in numbers, and the settings of answers.
export { MetricsView } from "../metrics/view.tsx";
export { Panel } from "./panel.tsx";
