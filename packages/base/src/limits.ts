/**
 * Every limit that a client can run into, with its unit in the name. Compared with `docs/limits.md`.
 * Specified in: yt/yt/client/table_client/public.h, yt/yt/core/yson/public.h and the HTTP proxy.
 */
export const limits = {
  // wire
  maxRequestBodyBytes: 512 * 1024 * 1024,
  maxRowBodyBytes: 256 * 1024 * 1024,
  maxStructuredBodyBytes: 64 * 1024 * 1024,
  maxHeaderBytes: 1024 * 1024,
  maxHeaderParts: 1000,
  maxQueryNesting: 6,
  maxQueryListIndex: 1024,
  keepAliveMs: 75_000,
  maxPullWaitMs: 3_600_000,
  // documents
  maxYsonDepth: 256,
  maxCypressYsonDepth: 128,
  maxJsonDepth: 512,
  maxPathBytes: 64 * 1024,
  // values and rows
  maxKeyColumns: 256,
  maxDynamicTableKeyColumns: 64,
  maxColumns: 32_768,
  maxColumnNameBytes: 256,
  maxLockGroups: 32,
  maxTypeDepth: 32,
  maxValuesPerRow: 1024,
  maxStringValueBytes: 16 * 1024 * 1024,
  maxClientRowWeightBytes: 128 * 1024 * 1024,
  maxRowsPerTransaction: 100_000,
  maxTransactionBytes: 512 * 1024 * 1024,
  maxOpenTransactionsBytes: 1024 * 1024 * 1024,
  maxRowsPerRowset: 5 * 1024 * 1024,
  maxStaticKeyBytes: 256 * 1024,
  // cypress
  maxNodeKeyBytes: 3_900,
  maxStringNodeBytes: 65_536,
  maxAttributeBytes: 16 * 1024 * 1024,
  maxChildCount: 50_000,
  maxAclEntries: 1_000,
  maxTabletCount: 2_000,
  maxTransactionTimeoutMs: 3_600_000,
  // storage
  maxStoreKeyBytes: 3_900,
  maxStoreValueBytes: 8_168,
  maxWriteBatchBytes: 1024 * 1024,
} as const;
