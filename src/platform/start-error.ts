/** Why `serve` cannot start: one sentence per problem, for people. */
export class StartError extends Error {
  readonly problems: readonly string[];
  /** 2 where the settings ask for what must not be. */
  readonly exitCode: 1 | 2;

  constructor(problems: readonly string[], exitCode: 1 | 2 = 1) {
    super(problems.join('\n'));
    this.name = 'StartError';
    this.problems = problems;
    this.exitCode = exitCode;
  }
}
