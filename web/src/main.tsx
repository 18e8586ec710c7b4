import { render } from "preact";
import { keyAsked } from "./core/api.ts";
import { readHeads } from "./core/keep.ts";
import * as talk from "./core/talk.ts";
import "./style.css";
import { App } from "./ui/app.tsx";
import { fetchParts } from "./ui/late.ts";

// In place of what index.html shows until now; nothing is painted in between.
const root = document.getElementById("app")!;
root.replaceChildren();
render(<App />, root);
void readHeads();
fetchParts();
talk.readServer().catch((error) => keyAsked.value || talk.sayError(error));
