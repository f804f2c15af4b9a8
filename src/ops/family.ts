export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** A metric whose values are read when Prometheus asks for them. */
export interface Family {
  /** Follows the Prometheus conventions: a counter ends in `_total`, preceded by the base unit. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly labelNames: readonly string[];
  /** Its cost must not depend on the number of keys. */
  read(): number | readonly Sample[] | Promise<readonly Sample[]>;
}

type Labelled = readonly string[];

export const counter = (name: string, help: string, read: Family['read'], labelNames: Labelled = []): Family => ({
  name,
  help,
  type: 'counter',
  read,
  labelNames,
});

export const gauge = (name: string, help: string, read: Family['read'], labelNames: Labelled = []): Family => ({
  ...counter(name, help, read, labelNames),
  type: 'gauge',
});
