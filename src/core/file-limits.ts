const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const GIBIBYTE = 1024 * MEBIBYTE;

/**
 * The most bytes that a file may have which is read whole, by what it is. One of 2 GiB or more would end the process: a
 * single read cannot take it.
 */
export const FILE_LIMITS = {
  /** The largest that the API may send. */
  configuration: 256 * MEBIBYTE,
  settings: MEBIBYTE,
  /** A certificate with its chain, or a private key. */
  certificate: MEBIBYTE,
  /** A state or a log of the counters' store: more than ten times what a million keys take. */
  counters: GIBIBYTE,
  /** Files that Keyway writes with a line or two: a lock, a marker, a refusal. */
  note: 64 * KIBIBYTE,
  /** The system's list of mounts. */
  mounts: 16 * MEBIBYTE,
  scenario: 64 * MEBIBYTE,
  /** A browser's record of its network traffic. */
  archive: 256 * MEBIBYTE,
} as const;

const UNITS = [
  [GIBIBYTE, 'GiB'],
  [MEBIBYTE, 'MiB'],
  [KIBIBYTE, 'KiB'],
] as const;

/** A limit in the largest unit that it is a whole number of: `256 MiB`. */
export function limitWords(bytes: number): string {
  const [size, unit] = UNITS.find(([each]) => bytes >= each && bytes % each === 0) ?? [1, 'bytes'];
  return `${bytes / size} ${unit}`;
}
