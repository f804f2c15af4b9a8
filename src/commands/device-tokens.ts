import type { NamedToken } from '../core/named-tokens.js';
import type { HomePlace } from '../settings/home.js';
import type { CommandContext } from './command.js';
import { openOwnRecords } from './own-records.js';

/**
 * Lists the tokens of devices, which a new password leaves alone, and offers to end them. Never rejects: the password is set, and
 * what is in the way of this is said.
 */
export async function offerToEndDevices(home: HomePlace, context: CommandContext): Promise<void> {
  try {
    await listAndAsk(home, context);
  } catch (error) {
    context.complain(
      `which devices have a token of their own is not known (${error instanceof Error ? error.message : String(error)}): keyway token list`,
    );
  }
}

async function listAndAsk(home: HomePlace, context: CommandContext): Promise<void> {
  const { clock, input, output } = context;
  const records = await openOwnRecords(home, context);
  try {
    const isSignedIn = ({ label, expiresAt }: NamedToken) =>
      label !== null && (expiresAt === null || expiresAt > clock.now());
    const devices = (await records.tokens()).filter(isSignedIn);
    if (devices.length === 0) return;
    output.line('These have a token of their own, and stay signed in:');
    for (const { name, label } of devices) output.line(`  ${name}  ${label}`);
    const isTerminal = input.isTerminal && output.isTerminal;
    const answer = isTerminal ? await input.ask('End them (y/N)? ', () => null) : null;
    if (/^y(?:es)?$/i.test(answer?.trim() ?? '')) {
      for (const { name } of devices) await records.removeToken(name);
      output.line(`Ended: ${devices.map(({ name }) => name).join(', ')}`);
    } else output.line('To end one: keyway token remove NAME');
  } finally {
    await records.close();
  }
}
