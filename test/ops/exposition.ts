/** One value of the text format. */
export interface ExposedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric with everything below its HELP and TYPE. */
export interface ExposedFamily {
  readonly help: string;
  readonly type: string;
  readonly samples: readonly ExposedSample[];
}

export interface Exposition {
  readonly families: ReadonlyMap<string, ExposedFamily>;
  /** The value of the one sample with this name and these labels; undefined when there is none, an error when several. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\n"])*"';
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? ([-+]?(?:\\d[\\d.]*(?:e[-+]?\\d+)?|Inf)|NaN)$`,
);

/** Reads the text format 0.0.4 strictly: every sample stands below the HELP and TYPE of its metric, once. Throws. */
export function parseExposition(text: string): Exposition {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, { help: string; type: string; samples: ExposedSample[] }>();
  let name = '';
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, subject = '', rest = ''] = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(subject)) throw new Error(`a second HELP: ${line}`);
      name = subject;
      families.set(name, { help: rest, type: '', samples: [] });
      continue;
    }
    const family = families.get(name);
    if (family === undefined) throw new Error(`no HELP before: ${line}`);
    if (kind === 'TYPE') {
      if (subject !== name || family.type !== '' || !/^(counter|gauge|histogram|summary)$/.test(rest))
        throw new Error(`a TYPE out of place: ${line}`);
      family.type = rest;
      continue;
    }
    const sample = sampleOf(line);
    const names = family.type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name];
    if (!names.includes(sample.name)) throw new Error(`below ${name} stands: ${line}`);
    const known = (other: ExposedSample) =>
      other.name === sample.name && JSON.stringify(other.labels) === JSON.stringify(sample.labels);
    if (family.samples.some(known)) throw new Error(`twice: ${line}`);
    family.samples.push(sample);
  }
  return { families, value: (wanted, labels = {}) => sampleValue(families, wanted, labels) };
}

function sampleOf(line: string): ExposedSample {
  const [, name, labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g)];
  const read = Object.fromEntries(pairs.map(([, label = '', content = '']) => [label, content]));
  if (Object.keys(read).length !== pairs.length) throw new Error(`a label twice: ${line}`);
  return { name, labels: read, value: Number(value.replace('Inf', 'Infinity')) };
}

function sampleValue(
  families: ReadonlyMap<string, ExposedFamily>,
  name: string,
  labels: Readonly<Record<string, string>>,
): number | undefined {
  const found = [...families.values()].flatMap(({ samples }) =>
    samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    ),
  );
  if (found.length > 1) throw new Error(`${found.length} samples of ${name} have ${JSON.stringify(labels)}`);
  return found[0]?.value;
}
