// Conversations in this browser's IndexedDB, which all tabs of the page share: one that another tab has
// changed since it was read here is merged within the transaction that keeps it. Where it cannot be used (a private window, a full disk)
// they stay in memory, and the page says so.
import type { Conversation } from "./tree.ts";
import { newId, titleOf } from "./tree.ts";
import { Cell } from "./cell.ts";
import { merged } from "./merge.ts";

// A row of the list.
export interface Head {
  id: string;
  title: string;
  updated: number;
  session?: string;
}

export const heads = new Cell<Head[]>([]);
// Why conversations are not kept; "": they are.
export const keepFault = new Cell("");

const kConversations = "conversations";
const kHeads = "heads";
const inMemory = new Map<string, Conversation>();
let opened: Promise<IDBDatabase | null> | undefined;

function openDatabase(): Promise<IDBDatabase | null> {
  return new Promise((resolve) => {
    try {
      const request = indexedDB.open("ruvllm", 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore(kConversations, { keyPath: "id" });
        request.result.createObjectStore(kHeads, { keyPath: "id" });
      };
      request.onsuccess = () => {
        request.result.onversionchange = () => request.result.close();
        resolve(request.result);
      };
      request.onerror = request.onblocked = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
}

const database = (): Promise<IDBDatabase | null> => (opened ??= openDatabase());

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
  });
}

function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = transaction.onerror = () =>
      reject(transaction.error ?? new Error("the browser's storage failed"));
  });
}

function headOf(conversation: Conversation): Head {
  const head: Head = { id: conversation.id, title: titleOf(conversation), updated: conversation.updated };
  if (conversation.session) head.session = conversation.session;
  return head;
}

function showHead(head: Head): void {
  const others = heads.value.filter((other) => other.id !== head.id);
  heads.set([head, ...others].sort((a, b) => b.updated - a.updated));
}

function noteFault(error: unknown): void {
  const isFull = error instanceof DOMException && error.name === "QuotaExceededError";
  keepFault.set(
    isFull
      ? "This browser's storage is full: new messages are kept only until the page is closed. Export what you need, or delete conversations."
      : "This browser keeps nothing for this page: conversations are lost when it is closed.",
  );
}

export async function readHeads(): Promise<void> {
  const db = await database();
  if (!db) return noteFault(undefined);
  try {
    const found = await done(db.transaction(kHeads).objectStore(kHeads).getAll() as IDBRequest<Head[]>);
    heads.set(found.sort((a, b) => b.updated - a.updated));
  } catch (error) {
    noteFault(error);
  }
}

// What this tab has read or kept last, of the conversations that it has had open.
const bases = new Map<string, Conversation>();
const kMostBases = 4;

export function setBase(conversation: Conversation): void {
  bases.delete(conversation.id);
  bases.set(conversation.id, conversation);
  if (bases.size > kMostBases) bases.delete(bases.keys().next().value!);
}
export const baseOf = (id: string): Conversation | undefined => bases.get(id);

// Other tabs hear the ids of what has changed.
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("ruvllm-conversations");
export function onOtherTab(changed: (id: string) => void): void {
  channel?.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return;
    void readHeads();
    changed(data);
  });
}

// Gives what is kept then: with what another tab has added.
export async function keep(conversation: Conversation): Promise<Conversation> {
  showHead(headOf(conversation));
  inMemory.set(conversation.id, conversation);
  // Now: until this is kept, another keeping may bring what this conversation does not have.
  const base = bases.get(conversation.id);
  const db = await database();
  if (!db) {
    noteFault(undefined);
    return conversation;
  }
  try {
    const transaction = db.transaction([kConversations, kHeads], "readwrite");
    const end = ended(transaction);
    end.catch(() => undefined);
    const store = transaction.objectStore(kConversations);
    const theirs = await done(store.get(conversation.id) as IDBRequest<Conversation | undefined>);
    const isChanged = theirs !== undefined && base !== undefined && theirs.revision !== base.revision;
    const kept = { ...(isChanged ? merged(base, conversation, theirs) : conversation), revision: newId() };
    store.put(kept);
    transaction.objectStore(kHeads).put(headOf(kept));
    await end;
    setBase(kept);
    // One that was kept later may have failed, and be here alone.
    if (inMemory.get(conversation.id) === conversation) inMemory.delete(conversation.id);
    keepFault.set("");
    showHead(headOf(kept));
    channel?.postMessage(kept.id);
    return kept;
  } catch (error) {
    noteFault(error);
    return conversation;
  }
}

export async function find(id: string): Promise<Conversation | undefined> {
  const newer = inMemory.get(id);
  if (newer) return newer;
  const db = await database();
  if (!db) return undefined;
  return done(db.transaction(kConversations).objectStore(kConversations).get(id) as IDBRequest<Conversation | undefined>);
}

export async function forget(id: string): Promise<void> {
  inMemory.delete(id);
  bases.delete(id);
  heads.set(heads.value.filter((head) => head.id !== id));
  const db = await database();
  if (!db) return;
  const transaction = db.transaction([kConversations, kHeads], "readwrite");
  transaction.objectStore(kConversations).delete(id);
  transaction.objectStore(kHeads).delete(id);
  await ended(transaction).catch(noteFault);
  channel?.postMessage(id);
}

// One after another, so that not all of them are in memory at the same time.
async function each(visit: (conversation: Conversation) => void): Promise<void> {
  for (const head of heads.value) {
    const conversation = await find(head.id);
    if (conversation) visit(conversation);
  }
}

export async function all(): Promise<Conversation[]> {
  const found: Conversation[] = [];
  await each((conversation) => found.push(conversation));
  return found;
}

// The ids of those that have all the words, in the title or in a message.
export async function search(words: string, isStale: () => boolean): Promise<Set<string>> {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Set<string>();
  for (const head of heads.value) {
    if (isStale()) break;
    if (wanted.every((word) => head.title.toLowerCase().includes(word))) {
      found.add(head.id);
      continue;
    }
    const conversation = await find(head.id);
    if (!conversation) continue;
    const texts = Object.values(conversation.messages).map((m) => m.text.toLowerCase());
    texts.push(head.title.toLowerCase(), conversation.system.toLowerCase());
    if (wanted.every((word) => texts.some((text) => text.includes(word)))) found.add(head.id);
  }
  return found;
}
