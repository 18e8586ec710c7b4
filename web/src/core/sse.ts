// Server-sent events, from pieces of text as they arrive. Only their data is of use here.
export class EventReader {
  #rest = "";
  #data: string[] = [];
  #size = 0;
  readonly #most: number;

  // `most`: characters of one event; a stream with a longer one is broken.
  constructor(most = 32 << 20) {
    this.#most = most;
  }

  // The data of the events that are complete now.
  read(piece: string): string[] {
    const events: string[] = [];
    const text = this.#rest + piece;
    let from = 0;
    for (;;) {
      let end = from;
      while (end < text.length && text[end] !== "\n" && text[end] !== "\r") ++end;
      // A CR at the very end may be half of a CRLF.
      if (end >= text.length || (text[end] === "\r" && end + 1 === text.length)) break;
      this.#line(text.slice(from, end), events);
      from = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
    }
    this.#rest = text.slice(from);
    if (this.#size + this.#rest.length > this.#most) throw new Error("an event of the stream is too long");
    return events;
  }

  #line(line: string, events: string[]): void {
    if (line === "") {
      if (this.#data.length > 0) events.push(this.#data.join("\n"));
      this.#data = [];
      this.#size = 0;
    } else if (line.startsWith("data:")) {
      const data = line.slice(line[5] === " " ? 6 : 5);
      this.#data.push(data);
      this.#size += data.length;
    }
  }
}
