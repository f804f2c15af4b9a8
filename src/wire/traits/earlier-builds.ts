/** A build from before a release that reports the release's version, as far as reads reveal that. */
export interface EarlierBuild {
  /** The missing part: the status member with the server's address for clients, or the newer DNS endpoints. */
  readonly lacks: 'endpoint' | 'DNS endpoints';
  /** The first build that has it. */
  readonly before: string;
}

/** The builds that report 0.4.6 (read in their source, not measured), the earliest first. */
export const betasOf046: readonly EarlierBuild[] = [
  { lacks: 'endpoint', before: '0.4.6-beta.1' },
  { lacks: 'DNS endpoints', before: '0.4.6-beta.4' },
];
