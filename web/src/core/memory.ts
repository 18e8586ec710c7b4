// /v1/memory, /v1/vector_stores and /v1/files, as far as the page uses them.
import { ask, json } from "./api.ts";
import { finite, isObject, list, member, text } from "./read.ts";
import type { Loose } from "./read.ts";

const kPageItems = 100; // the most that lists of files and stores give

export interface MemoryStats {
  embedder: string;
  nDims: number;
  nDocuments: number;
  nChunks: number;
  nTextBytes: number;
  nDamaged: number;
  nMemoryBytes: number;
}

export interface StoredDocument {
  name: string;
  nBytes: number;
  nChunks: number;
  addedS: number;
  metadata: Loose;
}

export interface Hit {
  id: number;
  document: string;
  first: number; // bytes of the document
  end: number;
  page: number; // 0: the document has no pages
  headings: string;
  text: string;
  score: number;
  similarity: number | undefined; // undefined: not found by its vector
  vectorRank: number; // 0: not found so
  wordRank: number;
}

export interface VectorStore {
  id: string;
  name: string;
  description: string;
  nFiles: number;
  nBytes: number;
  createdS: number;
  activeS: number;
  expiresS: number; // 0: never
}

export interface StoredFile {
  id: string;
  name: string;
  purpose: string;
  nBytes: number;
  createdS: number;
  expiresS: number; // 0: never
}

const number = (value: unknown, name: string): number => finite(member(value, name)) ?? 0;
const word = (value: unknown, name: string): string => text(member(value, name)) ?? "";

export async function memoryStats(signal: AbortSignal): Promise<MemoryStats> {
  const found = await json("/v1/memory/stats", { signal });
  return {
    embedder: word(found, "embedder"),
    nDims: number(found, "n_dims"),
    nDocuments: number(found, "n_documents"),
    nChunks: number(found, "n_chunks"),
    nTextBytes: number(found, "n_text_bytes"),
    nDamaged: number(found, "n_damaged"),
    nMemoryBytes: number(found, "n_memory_bytes"),
  };
}

const objectOf = (value: unknown): Loose => (isObject(value) ? value : {});

function documentOf(value: unknown): StoredDocument {
  return {
    name: word(value, "name"),
    nBytes: number(value, "n_bytes"),
    nChunks: number(value, "n_chunks"),
    addedS: number(value, "added_at"),
    metadata: objectOf(member(value, "metadata")),
  };
}

async function page<T>(path: string, signal: AbortSignal, read: (value: unknown) => T): Promise<{ items: T[]; hasMore: boolean }> {
  const found = await json(path, { signal });
  return { items: list(member(found, "data")).map(read), hasMore: member(found, "has_more") === true };
}

const pageQuery = (after: string): string => `?limit=${kPageItems}${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`;

export const documents = (after: StoredDocument | undefined, signal: AbortSignal) =>
  page(`/v1/memory/documents${pageQuery(after?.name ?? "")}`, signal, documentOf);

export const vectorStores = (after: VectorStore | undefined, signal: AbortSignal) =>
  page(`/v1/vector_stores${pageQuery(after?.id ?? "")}`, signal, (value): VectorStore => ({
    id: word(value, "id"),
    name: word(value, "name"),
    description: word(value, "description"),
    nFiles: number(member(value, "file_counts"), "total"),
    nBytes: number(value, "usage_bytes"),
    createdS: number(value, "created_at"),
    activeS: number(value, "last_active_at"),
    expiresS: number(value, "expires_at"),
  }));

export const storedFiles = (after: StoredFile | undefined, signal: AbortSignal) =>
  page(`/v1/files${pageQuery(after?.id ?? "")}`, signal, (value): StoredFile => ({
    id: word(value, "id"),
    name: word(value, "filename"),
    purpose: word(value, "purpose"),
    nBytes: number(value, "bytes"),
    createdS: number(value, "created_at"),
    expiresS: number(value, "expires_at"),
  }));

export interface StoreFile {
  id: string;
  nBytes: number;
  attributes: Loose;
}

export const storeFiles = (store: string, after: StoreFile | undefined, signal: AbortSignal) =>
  page(`/v1/vector_stores/${encodeURIComponent(store)}/files${pageQuery(after?.id ?? "")}`, signal, (value): StoreFile => ({
    id: word(value, "id"),
    nBytes: number(value, "usage_bytes"),
    attributes: objectOf(member(value, "attributes")),
  }));

export type SearchMode = "hybrid" | "vector" | "words";

export async function searchMemory(query: string, mode: SearchMode, k: number, signal: AbortSignal): Promise<Hit[]> {
  const found = await json("/v1/memory/search", { method: "POST", body: JSON.stringify({ query, mode, k }), signal });
  return list(member(found, "data")).map((value) => ({
    id: number(value, "id"),
    document: word(value, "document"),
    first: number(value, "first"),
    end: number(value, "end"),
    page: number(value, "page"),
    headings: word(value, "headings"),
    text: word(value, "text"),
    score: number(value, "score"),
    similarity: finite(member(value, "similarity")),
    vectorRank: number(value, "vector_rank"),
    wordRank: number(value, "word_rank"),
  }));
}

export interface NewDocument {
  name: string;
  text: string;
  metadata: Loose;
}

const kMostBodyBytes = 8_000_000; // of a request, as the server takes it

export async function addDocument(document: NewDocument, signal: AbortSignal): Promise<{ nChunks: number; isUnchanged: boolean }> {
  const body = JSON.stringify(document);
  // The server closes the connection in the middle of a longer one, and the browser would know no reason.
  if (new Blob([body]).size > kMostBodyBytes) throw new Error("as a request this text has more than 8 MB");
  const added = await json("/v1/memory/documents", { method: "POST", body, signal });
  return { nChunks: number(added, "n_chunks"), isUnchanged: member(added, "is_unchanged") === true };
}

async function remove(path: string): Promise<void> {
  await ask(path, { method: "DELETE" });
}
export const deleteDocument = (name: string) => remove(`/v1/memory/documents/${encodeURIComponent(name)}`);
export const deleteVectorStore = (id: string) => remove(`/v1/vector_stores/${encodeURIComponent(id)}`);
export const deleteFile = (id: string) => remove(`/v1/files/${encodeURIComponent(id)}`);
