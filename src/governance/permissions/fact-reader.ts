import { Injectable } from '@nestjs/common';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import type { RowsAsked } from '../../ledger/records/rows-asked';
import { KnownClaims } from '../entities/known-claims';
import { EarlierExecutions } from '../executions/earlier-executions';
import type { ConditionQuestion } from '../policies/conditions/facts';
import type { FactSource } from './gathered-facts';

/** Reads what conditions ask besides the request. */
@Injectable()
export class FactReader {
  constructor(
    private readonly earlier: EarlierExecutions,
    private readonly claims: KnownClaims,
  ) {}

  /** @param upTo the sequence of an entry; undefined: now. */
  at(upTo?: number): FactSource {
    return {
      earlier: (keys) => this.earlier.find(keys, upTo),
      claims: (keys) => this.claims.find(keys, upTo),
    };
  }

  /** Inside a command. @param besides the id of the execution that is decided on, which is not earlier than itself. */
  within(transaction: Pick<LedgerTransaction, 'asked'>, besides?: string): FactSource {
    return {
      earlier: (keys) => this.earlier.findIn(transaction, keys, besides),
      claims: (keys) => this.claims.findIn(transaction, keys),
    };
  }

  /** What these ask the database inside a command. */
  asked(facts: readonly ConditionQuestion[]): RowsAsked[] {
    return facts.map((fact) => ('earlier' in fact ? this.earlier.asked(fact.earlier) : this.claims.asked(fact.claim)));
  }
}
