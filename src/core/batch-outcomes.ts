import type { ChangeOutcome } from './backend.js';
import { DomainError, type DomainErrorCode, isInMemory } from './errors.js';

/** Tells whether a change was made, be it in memory alone. */
export function wasMade(outcome: ChangeOutcome | undefined): boolean {
  return outcome === null || isInMemory(outcome);
}

/** The outcomes of many changes as they are kept: 0 for one that was made, else the error and its detail. */
export function outcomesText(outcomes: readonly ChangeOutcome[]): string {
  return JSON.stringify(outcomes.map((outcome) => (outcome === null ? 0 : [outcome.code, outcome.detail])));
}

/** Reads what `outcomesText` writes, which Keyway alone does. */
export function outcomesIn(text: string): readonly ChangeOutcome[] {
  const kept: readonly (0 | [DomainErrorCode, string])[] = JSON.parse(text);
  return kept.map((outcome) => (outcome === 0 ? null : new DomainError(...outcome)));
}
