import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { OneAtATime } from '../../shared/one-at-a-time';

/** A name that waits for its turn, and those who ask for it. */
interface Question {
  readonly askers: AbortSignal[];
  readonly answer: Promise<LookupAddress[]>;
}

/**
 * Asks the system for addresses, for one name at a time, so that a thread is left to others who look up names. What the
 * system is asked cannot be taken back, and may take long. So a name has one turn however many ask for it, none once
 * they have gone, and the next only after all other names.
 */
export class SystemLookup {
  private readonly turns = new OneAtATime();
  private readonly questions = new Map<string, Question>();

  /** @param over aborted when the addresses are of no use any more. */
  addressesOf(name: string, over: AbortSignal): Promise<LookupAddress[]> {
    const question = this.questions.get(name) ?? this.added(name);
    question.askers.push(over);
    return question.answer;
  }

  private added(name: string): Question {
    const askers: AbortSignal[] = [];
    const answer = this.turns
      .run(() => {
        if (askers.every(({ aborted }) => aborted)) askers[0]?.throwIfAborted();
        return lookup(name, { all: true });
      })
      .finally(() => this.questions.delete(name));
    const question = { askers, answer };
    this.questions.set(name, question);
    return question;
  }
}
