import { render } from "preact";
import { keyAsked } from "./core/api.ts";
import { readHeads } from "./core/keep.ts";
import * as talk from "./core/talk.ts";
import "./style.css";
import { App } from "./ui/app.tsx";

render(<App />, document.getElementById("app")!);
void readHeads();
talk.readServer().catch((error) => keyAsked.value || talk.sayError(error));
