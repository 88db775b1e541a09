import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { contentErased, requireFound } from '../../core/errors/domain-error';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { AGENT } from '../../governance/agents/agent.entity';
import { DECISION } from '../../governance/decisions/decision.entity';
import { GRANT } from '../../governance/decisions/grants/grant.entity';
import { type Execution, EXECUTION } from '../../governance/executions/execution.entity';
import { personNamedBy } from '../../governance/permissions/principals';
import { PastPolicies, type PastRuleSets } from '../../governance/policies/past-policies';
import { type Receiver, StreamedAnswers } from '../../http/responses/streamed-responses';
import { SYSTEM_CALLER } from '../../ledger/caller';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { TreeDamagedError } from '../../ledger/merkle/tree';
import { type ParsedListedEntry, EntryReader } from '../../ledger/reading/entry-reader';
import { RecordHistory } from '../../ledger/record-history';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { IssuedCheckpoint } from '../checkpoints/checkpoint';
import { Checkpoints } from '../checkpoints/checkpoints.service';
import { TreeProofs } from '../checkpoints/tree-proofs';
import { pageAfter } from '../events/entry-tail';
import { ProvenanceProofResponse } from '../provenance/dto/provenance.dto';
import { DECISION_FILE_FORMAT } from './dto/decision-file.response';
import { earlierIn, evidenceNamedIn, isErasing, type NamedAgent, type NamedRecord } from './evidence-index';

/** Most executions, decisions and grants of one file. */
const MOST_REACHED = 1_000;

/** What a file is made from; entries and policies are read as it is sent. */
interface Contents {
  readonly id: string;
  readonly checkpoint: IssuedCheckpoint;
  /** The sequences of its entries, in order. */
  readonly sequences: readonly number[];
  readonly rules: PastRuleSets;
}

/** The entries about everything that is reached, and by execution the person on whose behalf it is. */
interface Reached {
  readonly entries: readonly ParsedListedEntry[];
  readonly people: ReadonlyMap<string, string>;
}

/**
 * Makes the file from which anybody can recompute what was decided about an execution: its entries with their proofs, and
 * the policies that were in force. Entries and policies are read as they are sent, so memory stays flat.
 */
@Injectable()
export class DecisionFiles {
  constructor(
    private readonly records: RecordReader,
    private readonly entries: EntryReader,
    private readonly past: RecordHistory,
    private readonly policies: PastPolicies,
    private readonly checkpoints: Checkpoints,
    private readonly proofs: TreeProofs,
    private readonly streams: StreamedAnswers,
  ) {}

  /** @throws NOT_FOUND; CONTENT_ERASED; CONFLICT for what was decided before version 2; UNAVAILABLE. */
  async open(id: string, receiver: Receiver): Promise<Readable> {
    const { stream } = await this.streams.open(receiver, async () => {
      const execution = requireFound(await this.records.find(EXECUTION, id, SYSTEM_CALLER), 'execution');
      return { stream: Readable.from(this.text(await this.contents(execution, receiver.signal))) };
    });
    return stream;
  }

  private async contents(execution: Execution, signal: AbortSignal): Promise<Contents> {
    const { id } = execution;
    const { entries: own, checkpoint } = await this.covered(execution, signal);
    const { entries, people } = await this.withReached(execution, own, checkpoint.size, signal);
    const named = evidenceNamedIn(entries, `the execution ${id}`, people);
    const sequences = new Set(entries.map(({ sequence }) => sequence));
    for (const agent of named.agents) {
      signal.throwIfAborted();
      sequences.add(await this.sequenceOf(agent));
    }
    for (const stop of named.stops)
      for (const { sequence } of await this.entriesAbout(stop, signal))
        if (sequence <= checkpoint.size) sequences.add(sequence);
    const decided = entries.filter(({ subjectType }) => subjectType === DECISION.subjectType);
    const decisionIds = new Set(decided.map(({ subjectId }) => subjectId));
    const passkeys = await Promise.all(
      [...decisionIds].map((decisionId) => this.passkeysOf(decisionId, checkpoint.size)),
    );
    for (const record of [...named.records, ...passkeys.flat()]) sequences.add(await this.placeOf(record, signal));
    const rules = await this.policies.rules(named.rules, signal);
    return { id, checkpoint, sequences: [...sequences].sort((one, other) => one - other), rules };
  }

  /** All entries about the execution and its decision, and a checkpoint that covers them: the last one if it does. */
  private async covered(
    execution: Execution,
    signal: AbortSignal,
  ): Promise<{ readonly entries: readonly ParsedListedEntry[]; readonly checkpoint: IssuedCheckpoint }> {
    // Read before the entries, so that none that it covers is missing.
    const last = this.checkpoints.last();
    const entries = await this.entriesOf(execution, signal);
    const isCovered = (checkpoint: IssuedCheckpoint): boolean =>
      entries.every(({ sequence }) => sequence <= checkpoint.size);
    if (last !== null && isCovered(last)) return { entries, checkpoint: last };
    const checkpoint = await this.checkpoints.issue();
    const upTo = (await this.entriesOf(execution, signal)).filter(({ sequence }) => sequence <= checkpoint.size);
    return { entries: upTo, checkpoint };
  }

  private async entriesOf({ id, decisionId }: Execution, signal: AbortSignal): Promise<ParsedListedEntry[]> {
    const entries = await this.entriesAbout(id, signal);
    if (decisionId !== null) entries.push(...(await this.entriesAbout(decisionId, signal)));
    return entries.sort((one, other) => one.sequence - other.sequence);
  }

  /**
   * Adds the entries about everything that the decision rests on, however it is reached: what is recomputed from the file. Of a run
   * that names more and more earlier executions, the file has the first ones.
   */
  private async withReached(
    { id }: Execution,
    own: readonly ParsedListedEntry[],
    size: number,
    signal: AbortSignal,
  ): Promise<Reached> {
    const entries: ParsedListedEntry[] = [];
    const people = new Map<string, string>();
    const reached = [id];
    const known = new Set<string>();
    for (const subjectId of reached) {
      if (known.has(subjectId) || known.size === MOST_REACHED) continue;
      known.add(subjectId);
      const read = own.filter((entry) => entry.subjectId === subjectId);
      const about = read.length > 0 ? read : await this.entriesAbout(subjectId, signal);
      // An erasure counts at once, also after the checkpoint.
      entries.push(...about.filter((entry) => entry.sequence <= size || isErasing(entry)));
      reached.push(...(await this.idsIn(subjectId, people)), ...about.flatMap(earlierIn));
    }
    return { entries: entries.sort((one, other) => one.sequence - other.sequence), people };
  }

  /** The ids of what a record names. @param people gets the person on whose behalf an execution is */
  private async idsIn(id: string, people: Map<string, string>): Promise<string[]> {
    const grant = await this.records.find(GRANT, id, SYSTEM_CALLER);
    const decision = await this.records.find(DECISION, id, SYSTEM_CALLER);
    const execution = await this.records.find(EXECUTION, id, SYSTEM_CALLER);
    const onBehalfOf = execution?.onBehalfOf ?? null;
    const person = onBehalfOf === null ? undefined : personNamedBy(onBehalfOf);
    if (person !== undefined) people.set(id, person);
    const named = [grant?.decisionId, decision?.executionId];
    return [...named, execution?.decisionId, execution?.grantId, execution?.instead?.grantId].flatMap(
      (one) => one ?? [],
    );
  }

  private async entriesAbout(subjectId: string, signal: AbortSignal): Promise<ParsedListedEntry[]> {
    const entries: ParsedListedEntry[] = [];
    const conditions = [{ column: 'subjectId', comparison: 'equals', value: subjectId }] as const;
    for (let more = true; more;) {
      const page = await this.entries.page({
        ...pageAfter(entries.at(-1)?.sequence ?? 0, conditions),
        signal,
      });
      entries.push(...page.rows);
      ({ more } = page);
    }
    return entries;
  }

  /** The sequence of the entry that left the agent as it counted. */
  private async sequenceOf({ agentId, revision, sequence }: NamedAgent): Promise<number> {
    const then = await this.past.stateAt(AGENT, agentId, sequence - 1);
    if (then?.record.revision === revision) return then.since;
    throw new Error(
      `Before the entry ${sequence} the agent ${agentId} was not of the revision ${revision}, which it names: the database was altered.`,
    );
  }

  /** The sequence of the entry by which a record came to count. */
  private async placeOf({ id, actions, sequence: before }: NamedRecord, signal: AbortSignal): Promise<number> {
    const entries = await this.entriesAbout(id, signal);
    const first = entries.find(({ action }) => actions.includes(action));
    // Refused before anything is sent: later, the answer could only be cut short.
    const erased = first?.erased ?? entries.find(isErasing)?.sequence;
    if (erased !== undefined) throw contentErased(id, erased);
    if (first !== undefined && first.sequence < before) return first.sequence;
    throw new Error(
      `Before the entry ${before} there is no ${actions.join(' or ')} of ${id}: the database was altered.`,
    );
  }

  /** The passkeys that signed reviews of a decision up to a checkpoint. */
  private async passkeysOf(decisionId: string, size: number): Promise<NamedRecord[]> {
    const decision = await this.past.findAfter(DECISION, decisionId, size, SYSTEM_CALLER);
    const signatures = (decision?.reviews ?? []).flatMap(({ signature }) => signature ?? []);
    const registered = { actions: ['passkey.registered'], sequence: size };
    return signatures.map(({ passkeyId: id }) => ({ id, ...registered }));
  }

  /** In RFC 8785 form: members in the order of their names. */
  private async *text({ id, checkpoint, sequences, rules }: Contents): AsyncGenerator<string> {
    yield `{"checkpoint":${canonicalJson(checkpoint.text)},"entries":[`;
    for (const [index, sequence] of sequences.entries()) {
      yield `${index === 0 ? '' : ','}${canonicalJson(await this.provenEntry(sequence, checkpoint))}`;
    }
    yield `],"executionId":"${id}","format":"${DECISION_FILE_FORMAT}","policies":[`;
    let separator = '';
    for await (const policies of rules.policies) {
      yield separator + policies.join(',');
      separator = ',';
    }
    yield `],"rules":${canonicalJson(rules.sets as unknown as JsonValue)}}`;
  }

  private async provenEntry(sequence: number, checkpoint: IssuedCheckpoint): Promise<JsonObject> {
    const entry = requireFound(await this.entries.find(sequence), 'provenance entry');
    // Erased since the file was begun.
    if (entry.erased !== null) throw contentErased(`the entry ${sequence}`, entry.erased);
    const { tree, hashes } = await this.proofs.inclusion(sequence, checkpoint.size);
    if (tree.rootHash !== checkpoint.rootHash)
      throw new TreeDamagedError(`The tree of ${tree.size} entries is not that of its checkpoint.`);
    return { ...(ProvenanceProofResponse.of(entry) as unknown as JsonObject), proof: hashes };
  }
}
