/** Builds from before a release that report its version, as far as reads tell them from it. */
export interface EarlierBuild {
  /** The missing part: the member of the status that says where clients find the server, or the newer DNS endpoints. */
  readonly lacks: 'endpoint' | 'DNS endpoints';
  /** The first build that has it. */
  readonly before: string;
}

/** The builds that report 0.4.6 (read in their source, not measured), the earliest first. */
export const betasOf046: readonly EarlierBuild[] = [
  { lacks: 'endpoint', before: '0.4.6-beta.1' },
  { lacks: 'DNS endpoints', before: '0.4.6-beta.4' },
];
