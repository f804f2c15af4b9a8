/** Generated values: equal for equal numbers, and different for different numbers. */
export const NUMBERED: Readonly<Record<string, string>> = {
  // 32 digits for one key, 16 for a bulk key (protocol: "Users").
  key: '[0-9a-f]{32}|[0-9a-f]{16}',
  session: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  'audit-id': '[0-9a-f]{1,16}',
  // Of Keyway's own interface.
  job: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  token: 'kw_[0-9A-Za-z_-]{43}',
  cursor: '[0-9a-f]+(?:-[0-9a-f]+)+',
  etag: '"[^"]+"',
  kept: '[0-9]{8}T[0-9]{9}Z-[0-9a-f]{32}',
  // Removed by a recording: a name, a text of a configuration, and a secret, which matches any value.
  name: '.*',
  text: '.*',
  secret: '.*',
};

export const PLACEHOLDER_KINDS: readonly string[] = Object.keys(NUMBERED);

/** Values that differ from run to run and are recognized by their form alone. */
export const FORMS: Readonly<Record<string, string>> = {
  time: '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]',
  date: '[0-9]{4}-[0-9]{2}-[0-9]{2}',
  'date-time': '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z',
  version: '[0-9]+\\.[0-9]+\\.[0-9]+[-+.0-9A-Za-z]*',
};
