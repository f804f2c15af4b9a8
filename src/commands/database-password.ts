import { isPbkdf2 } from '../core/password.js';
import { type Operator, passwordHashIn, withOperator } from '../document/operator-change.js';
import { databaseProblem } from '../homes/database/schema.js';
import type { ParsedFlags } from '../settings/flags.js';
import type { HomePlaceOf } from '../settings/home.js';
import type { CommandContext } from './command.js';
import { complainingLog } from './complaining-log.js';
import { offerToEndDevices } from './device-tokens.js';
import { FOR, passwordHashOf, readPassword, wantsPbkdf2 } from './hash-password.js';

/** Asks for a new password for the configuration. Rejects with an `Error` for people, also where it could not be set there. */
export async function operatorAsked(
  bytes: Buffer,
  { values: given }: Pick<ParsedFlags, 'values'>,
  context: CommandContext,
): Promise<Operator> {
  const username = given.get('username')?.[0] ?? null;
  if (username === '') throw new Error('--username: expected a name that is not empty');
  // A problem of the configuration is said before anybody is asked.
  withOperator(bytes, { username, passwordHash: '' });
  const isStretched = wantsPbkdf2(given.get(FOR.flag)?.[0]) ?? isPbkdf2(passwordHashIn(bytes));
  const answer = await readPassword(context);
  if ('problem' in answer) throw new Error(answer.problem);
  return { username, passwordHash: await passwordHashOf(answer.password, isStretched, context.random) };
}

/** Sets the password in the configuration that a database holds; it ends every session. Rejects with an `Error` for people. */
export async function setDatabasePassword(
  home: HomePlaceOf<'database'>,
  flags: ParsedFlags,
  context: CommandContext,
): Promise<void> {
  const { openDatabaseDocument } = await import('../homes/database/open-document.js');
  const { clock, random, output } = context;
  const { document, close } = await openDatabaseDocument({
    url: home.url,
    clock,
    random,
    log: complainingLog(context),
  });
  try {
    const operator = await operatorAsked(await document.text(), flags, context);
    await document
      .change((bytes) => withOperator(bytes, operator))
      .catch((error: unknown) => {
        throw new Error(databaseProblem(error), { cause: error });
      });
  } finally {
    await close();
  }
  output.line("Wrote the new password's hash into the configuration in the database.");
  output.line('At every gateway every session ends within a second: sign in again.');
  output.line('What the configuration was is kept: keyway config list');
  await offerToEndDevices(home, context);
}
