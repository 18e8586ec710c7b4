// What a server keeps, as its answers say it.
const kDay = 86_400;
const kNowS = Date.UTC(2026, 0, 1, 9, 30) / 1000;

const document = (name: string, n_bytes: number, n_chunks: number, days: number, metadata: object = {}) => ({
  object: "memory.document",
  name,
  n_bytes,
  n_chunks,
  added_at: kNowS - days * kDay,
  metadata,
});

const hit = (id: number, document: string, first: number, headings: string, text: string, more: object) => ({
  id,
  document,
  first,
  end: first + text.length,
  headings,
  text,
  metadata: {},
  ...more,
});

const listOf = (data: object[]) => ({ object: "list", data, has_more: false });

export const kMemory = {
  "/v1/memory/stats": {
    object: "memory.stats",
    embedder: "example-embed, 300M parameters, q8_0, mean pooling",
    n_dims: 768,
    n_documents: 4,
    n_chunks: 96,
    n_vectors: 96,
    n_text_bytes: 81_420,
    n_damaged: 0,
    n_memory_bytes: 6_340_000,
  },
  "/v1/memory/documents": listOf([
    document("garden/greenhouse.md", 5120, 6, 12, { year: 2025, place: "north field" }),
    document("garden/rules.md", 2310, 3, 40, { year: 2024 }),
    document("minutes-2025-11.pdf", 43_870, 51, 3, { kind: "minutes", public: true }),
    document("tools.md", 30_120, 36, 1),
  ]),
  "/v1/memory/search": {
    object: "memory.search",
    data: [
      hit(11, "garden/rules.md", 412, "Rules > Keys", "Who has worked three Saturdays may enter the greenhouse alone, and gets a key at the next meeting.", {
        score: 0.0328,
        vector_rank: 1,
        word_rank: 1,
        similarity: 0.71,
      }),
      hit(57, "minutes-2025-11.pdf", 18_204, "", "Agreed: the door is locked from October on, as the heating runs at night.", {
        page: 7,
        score: 0.0159,
        vector_rank: 3,
        word_rank: 0,
        similarity: 0.46,
      }),
    ],
  },
  "/v1/vector_stores": listOf([
    {
      id: "vs_7hq2m0zk4c1v",
      name: "handbook",
      description: "What new members ask",
      usage_bytes: 48_200,
      file_counts: { total: 2 },
      created_at: kNowS - 20 * kDay,
      last_active_at: kNowS - 3600,
      expires_at: kNowS + 10 * kDay,
    },
  ]),
  "/v1/files": listOf([
    { id: "file-3x9d81ab", filename: "handbook.md", purpose: "assistants", bytes: 31_900, created_at: kNowS - 20 * kDay, expires_at: null },
    { id: "file-8k2p04tw", filename: "faq.md", purpose: "assistants", bytes: 16_300, created_at: kNowS - 20 * kDay, expires_at: null },
  ]),
};
