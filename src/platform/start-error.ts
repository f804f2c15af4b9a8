/** Why `serve` cannot start: one sentence for each problem, for the user. */
export class StartError extends Error {
  readonly problems: readonly string[];
  /** 2 if the settings ask for something forbidden. */
  readonly exitCode: 1 | 2;

  constructor(problems: readonly string[], exitCode: 1 | 2 = 1) {
    super(problems.join('\n'));
    this.name = 'StartError';
    this.problems = problems;
    this.exitCode = exitCode;
  }
}
