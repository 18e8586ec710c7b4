// Files are taken as texts: what is not UTF-8 is refused by name.
const kMostFileBytes = 4 << 20; // half of what the server takes as a request

export async function readTextFile(file: File): Promise<string> {
  if (file.size > kMostFileBytes) {
    throw new Error(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; files of up to 4 MB are taken`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes("\0")) return text;
  } catch {
    // As below.
  }
  throw new Error(`${file.name} is not a text in UTF-8`);
}
