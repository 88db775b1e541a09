import { Injectable } from '@nestjs/common';
import { type Moment, RecordHistory } from '../../ledger/record-history';
import { Gates, callerKey } from '../../http/gates';
import type { Caller } from '../../ledger/kinds/caller';
import { type PolicySet, PolicyEvaluator } from './evaluation/policy-evaluator';
import { type Policy, POLICY, POLICY_ACTIONS } from './policy.entity';
import { type PolicyDefaultEffect, POLICY_DEFAULT_EFFECTS } from '../../core/config/variables/governance-variables';
import { sha256 } from '../../ledger/chain/hash-chain';
import { Database } from '../../ledger/database/database';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type ContentHashes, EVALUATIONS, hashedContent, rulesHash } from './policy-content';

/** Number of policies read at once. */
const CHUNK_SIZE = 50;

/**
 * Selects the last entry of a change, after its entry `$1`: all have the time `$2`, and details that match `$3`.
 * Canonical JSON escapes quotation marks within texts, so `$3` finds only a member.
 */
const SELECT_END_OF_CHANGE =
  `SELECT coalesce((SELECT "sequence" - 1 FROM "ledger_entries" WHERE "sequence" > $1 ` +
  `AND NOT ("timestamp" = $2 AND "action" LIKE 'policy.%' AND "details" LIKE $3) ORDER BY "sequence" LIMIT 1), ` +
  `(SELECT max("sequence") FROM "ledger_entries")) AS "sequence"`;

/** The `rules` of an entry, and its sequence. */
export interface NamedRules {
  readonly hash: string;
  readonly sequence: number;
}

/** Contents of a hash of rules. */
interface FoundRules {
  readonly hash: string;
  readonly defaultEffect: PolicyDefaultEffect;
  readonly evaluation: number;
  /** The ids of the policies in force, in order. */
  readonly policies: readonly string[];
}

/** Reads the policies that were in force earlier, and the rules that entries name by their hash. */
@Injectable()
export class PastPolicies {
  constructor(
    private readonly past: RecordHistory,
    private readonly records: RecordReader,
    private readonly entries: EntryReader,
    private readonly database: Database,
    private readonly gates: Gates,
  ) {}

  /**
   * Returns the last entry of the change of policies that contains a moment, with the time of the moment. All of a
   * change takes effect at once, so there was no state in between.
   * @throws VALIDATION_ERROR for a moment in the future, which the client sent under this field
   */
  async wholeChangeAt(asOf: Moment, field: string): Promise<{ readonly sequence: number; readonly time: string }> {
    const sequence = await this.past.sequenceAt(asOf, field);
    if (typeof asOf === 'string') return { sequence, time: asOf };
    const entry = await this.entries.find(sequence);
    if (entry === undefined) throw new Error(`There is no entry ${sequence}.`);
    const { timestamp: time, action, details } = entry;
    const policySet = details?.['policySet'];
    // Executions also name the set that decided them, but each is a separate change.
    if (!action.startsWith('policy.') || typeof policySet !== 'string') return { sequence, time };
    const pattern = `%"policySet":${JSON.stringify(policySet)}%`;
    const { points } = this.database;
    const [last] = await points.all<{ sequence: number }>(SELECT_END_OF_CHANGE, [sequence, time, pattern]);
    return { sequence: last?.sequence ?? sequence, time };
  }

  /**
   * Runs the work with the policies that were in force after the entry with the sequence. Loads one set at a time,
   * because each takes as much memory as the policies in force.
   * @param signal aborted when nobody waits for the result any more
   * @throws UNAVAILABLE if too many uses wait, or this one has waited too long; the reason of `signal`
   */
  inForceAfter<Result>(
    caller: Caller,
    sequence: number,
    work: (policies: PolicySet) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const answered = async (): Promise<Result> =>
      work(await PolicyEvaluator.build(await this.loadAfter(sequence, signal)));
    return this.gates.get('pastQuestions').run(callerKey(caller), answered, { signal });
  }

  /**
   * Reads the policies that were in force after the entry with the sequence. They take much memory, so few may be read
   * at once.
   * @throws the reason of `signal`
   */
  async loadAfter(sequence: number, signal: AbortSignal): Promise<Policy[]> {
    const inForce: Policy[] = [];
    for await (const policy of this.allAfter(sequence)) {
      signal.throwIfAborted();
      inForce.push(policy);
    }
    return inForce;
  }

  private async *allAfter(sequence: number): AsyncGenerator<Policy> {
    for await (const policies of this.past.chunks(POLICY, sequence))
      yield* policies.filter(({ status }) => status === 'active');
  }

  /**
   * Returns the rules, and the contents of their policies.
   * @throws Error if the ledger leads to rules that do not match the hash in the entries; the reason of `signal`
   */
  async rules(references: readonly NamedRules[], signal: AbortSignal): Promise<PastRuleSets> {
    const inForce = new Map<string, { readonly hash: string }>();
    const contents = new Map<string, { readonly hash: string }>();
    const sets: FoundRules[] = [];
    let after = 0;
    for (const { hash, sequence } of [...references].sort((one, other) => one.sequence - other.sequence)) {
      const upTo = sequence - 1;
      for await (const policy of sets.length === 0
        ? this.allAfter(upTo)
        : this.past.changes(POLICY, POLICY_ACTIONS, { after, upTo })) {
        signal.throwIfAborted();
        if (policy.status !== 'active') {
          inForce.delete(policy.id);
          continue;
        }
        const content = { hash: sha256(hashedContent(policy)) };
        inForce.set(policy.id, content);
        contents.set(policy.id, content);
      }
      sets.push({ hash, ...rulesAfter(hash, inForce, sequence), policies: [...inForce.keys()].sort() });
      after = upTo;
    }
    return { sets, policies: this.contentsOf(sets, contents) };
  }

  /** Reads current contents, because the content of a policy never changes. */
  private async *contentsOf(sets: readonly FoundRules[], hashes: ContentHashes): AsyncGenerator<readonly string[]> {
    const ids = [...new Set(sets.flatMap(({ policies }) => policies))].sort();
    for (let start = 0; start < ids.length; start += CHUNK_SIZE) {
      const some = ids.slice(start, start + CHUNK_SIZE);
      const policies = await this.records.allAmong(
        POLICY,
        ['id'],
        some.map((id) => [id]),
      );
      const contents = new Map(policies.map((policy) => [policy.id, hashedContent(policy)]));
      yield some.map((id) => {
        const content = contents.get(id);
        if (content !== undefined && sha256(content) === hashes.get(id)?.hash) return content;
        throw new Error(`The policy ${id} is not as its entries sealed it: the database was altered.`);
      });
    }
  }
}

/** Contents of several hashes of rules. */
export interface PastRuleSets {
  /** Rules in the order in which the entries name them. */
  readonly sets: readonly FoundRules[];
  /** RFC 8785 texts of the contents of all policies, each once, by id; read in pieces. */
  readonly policies: AsyncGenerator<readonly string[]>;
}

/** Returns the parts of the hashed rules other than the policies. */
function rulesAfter(
  hash: string,
  inForce: ContentHashes,
  sequence: number,
): { readonly defaultEffect: PolicyDefaultEffect; readonly evaluation: number } {
  for (const evaluation of EVALUATIONS)
    for (const defaultEffect of POLICY_DEFAULT_EFFECTS)
      if (rulesHash(inForce, defaultEffect, evaluation) === hash) return { defaultEffect, evaluation };
  throw new Error(
    `The policies in force before the entry ${sequence} are not the rules that it names: the database was altered.`,
  );
}
