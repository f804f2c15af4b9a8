/** Where counters and remembered reports are kept beyond the process. */
export interface CountersPort {
  /**
   * Resolves once everything that happened to counters and reports before the call is durable. Rejects with an error in
   * words for people when it could not be written; it stays in memory and is tried again.
   */
  flush(): Promise<void>;
}
