import type { Reporter } from 'vitest/node';

/** Says at the end of a whole `npm test` what it leaves out. */
export default class LastLine implements Reporter {
  onTestRunEnd(): void {
    // After the summary of the reporter before this one.
    setImmediate(() =>
      process.stdout.write(
        'npm run test:full adds the soak tests made short, gateways that take over from others or stand still, work counted against input, every block of every document, every use of the package, every page of the panel in every width and look, every flow of it in more than its one way, every scenario over PostgreSQL, and every case of what npm test has some of\n',
      ),
    );
  }
}
