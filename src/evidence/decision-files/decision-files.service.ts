import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { conflict, contentErased, type DomainError, requireFound } from '../../core/errors/domain-error';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { AGENT } from '../../governance/agents/agent.entity';
import { isAboutChange } from '../../governance/decisions/changes/change';
import { type Decision, DECISION } from '../../governance/decisions/decision.entity';
import { GRANT } from '../../governance/decisions/grants/grant.entity';
import { EXECUTION } from '../../governance/executions/execution.entity';
import { personNamedBy } from '../../governance/permissions/principals';
import { type NamedRules, PastPolicies, type PastRuleSets } from '../../governance/policies/past-policies';
import { type Receiver, StreamedResponses } from '../../http/responses/streamed-responses';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
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
import { type ChangeEvidence, changeEvidenceOf, type MadeRange } from './change-evidence';
import { DECISION_FILE_FORMAT } from './dto/decision-file.response';
import { earlierIn, evidenceNamedIn, isErasing, type NamedAgent, type NamedRecord } from './evidence-index';

/** Most executions, decisions and grants of one file. */
const MAX_RECORDS = 1_000;

/** Record that a file is about. */
interface FileSubject {
  /** Member of the file that names the record. */
  readonly member: 'decisionId' | 'executionId';
  readonly id: string;
  /** Ids of records; the checkpoint must cover all their entries. */
  readonly ids: readonly string[];
  /** Decision, if the file is about a change. */
  readonly change: Decision | null;
}

/** Basis of a file; entries and policies are read as it is sent. */
interface Contents {
  readonly subject: FileSubject;
  readonly checkpoint: IssuedCheckpoint;
  /** Sequences of its entries, in order. */
  readonly sequences: readonly number[];
  /** Entries that a change has made; null if there are none. */
  readonly made: MadeRange | null;
  readonly rules: PastRuleSets;
}

/** Entries about all reached records, and principals who are people, by execution. */
interface Reached {
  readonly entries: readonly ParsedListedEntry[];
  readonly people: ReadonlyMap<string, string>;
}

/**
 * Makes the file from which anybody can recompute the decision about an execution or a change: its entries with their
 * proofs, and the policies that were in force. Entries and policies are read as they are sent, so memory stays flat.
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
    private readonly streams: StreamedResponses,
  ) {}

  /** @throws NOT_FOUND; CONTENT_ERASED; CONFLICT for a decision before version 2; UNAVAILABLE */
  openExecution(id: string, receiver: Receiver): Promise<Readable> {
    return this.open(receiver, async () => {
      const execution = requireFound(await this.records.find(EXECUTION, id, SYSTEM_CALLER), 'execution');
      const ids = execution.decisionId === null ? [id] : [id, execution.decisionId];
      return { member: 'executionId', id, ids, change: null };
    });
  }

  /** @throws as `openExecution`; CONFLICT for a decision that is about no change */
  openChange(id: string, receiver: Receiver): Promise<Readable> {
    return this.open(receiver, async () => {
      const decision = requireFound(await this.records.find(DECISION, id, SYSTEM_CALLER), 'decision');
      if (!isAboutChange(decision)) throw otherFile(decision);
      return { member: 'decisionId', id, ids: [id], change: decision };
    });
  }

  private async open(receiver: Receiver, findSubject: () => Promise<FileSubject>): Promise<Readable> {
    const { stream } = await this.streams.open(receiver, async () => ({
      stream: Readable.from(this.text(await this.contents(await findSubject(), receiver.signal))),
    }));
    return stream;
  }

  private async contents(subject: FileSubject, signal: AbortSignal): Promise<Contents> {
    const { entries: own, checkpoint } = await this.covered(subject, signal);
    const { entries, people } = await this.withReached(subject, own, checkpoint.size, signal);
    const label = subject.change === null ? `the execution ${subject.id}` : `the change ${subject.id}`;
    const evidence = evidenceNamedIn(entries, label, people);
    const change = subject.change === null ? null : changeEvidenceOf(subject.change, own);
    const sequences = new Set(entries.map(({ sequence }) => sequence));
    for (const agent of evidence.agents) {
      signal.throwIfAborted();
      sequences.add(await this.sequenceOfAgent(agent));
    }
    if (change !== null) for (const sequence of await this.sequencesOfChange(change)) sequences.add(sequence);
    for (const stop of evidence.stops)
      for (const { sequence } of await this.entriesAbout(stop, signal))
        if (sequence <= checkpoint.size) sequences.add(sequence);
    const decided = entries.filter(({ subjectType }) => subjectType === DECISION.subjectType);
    const decisionIds = new Set(decided.map(({ subjectId }) => subjectId));
    const passkeys = await Promise.all(
      [...decisionIds].map((decisionId) => this.passkeysOf(decisionId, checkpoint.size)),
    );
    for (const record of [...evidence.records, ...passkeys.flat()])
      sequences.add(await this.sequenceOfRecord(record, signal));
    const rules = await this.policies.rules(withRules(evidence.rules, change?.rules ?? null), signal);
    const inOrder = [...sequences].sort((one, other) => one - other);
    return { subject, checkpoint, sequences: inOrder, made: change?.made ?? null, rules };
  }

  /**
   * Returns the sequences of the entries that a change has made, and of the entry that left its proposer as it was
   * then.
   */
  private async sequencesOfChange({ proposer, made }: ChangeEvidence): Promise<number[]> {
    const sequences =
      made === null ? [] : Array.from({ length: made.last - made.first + 1 }, (_, at) => made.first + at);
    if (proposer === null) return sequences;
    const state = await this.past.stateAt(AGENT, proposer.agentId, proposer.sequence - 1);
    return state === undefined ? sequences : [...sequences, state.since];
  }

  /**
   * Returns all entries about the subject and its decision, and a checkpoint that covers them: the last checkpoint if
   * possible, otherwise a new one.
   */
  private async covered(
    { ids }: FileSubject,
    signal: AbortSignal,
  ): Promise<{ readonly entries: readonly ParsedListedEntry[]; readonly checkpoint: IssuedCheckpoint }> {
    // The checkpoint is read before the entries, so that no entry that it covers is missing.
    const last = this.checkpoints.last();
    const entries = await this.entriesOf(ids, signal);
    const isCovered = (checkpoint: IssuedCheckpoint): boolean =>
      entries.every(({ sequence }) => sequence <= checkpoint.size);
    if (last !== null && isCovered(last)) return { entries, checkpoint: last };
    const checkpoint = await this.checkpoints.issue();
    const upTo = (await this.entriesOf(ids, signal)).filter(({ sequence }) => sequence <= checkpoint.size);
    return { entries: upTo, checkpoint };
  }

  private async entriesOf(ids: readonly string[], signal: AbortSignal): Promise<ParsedListedEntry[]> {
    const entries: ParsedListedEntry[] = [];
    for (const id of ids) entries.push(...(await this.entriesAbout(id, signal)));
    return entries.sort((one, other) => one.sequence - other.sequence);
  }

  /**
   * Adds the entries about all records on which the decision rests, directly or indirectly, because they are needed to
   * recompute it. Of a long chain of earlier executions, the file has the first {@link MAX_RECORDS} records.
   */
  private async withReached(
    { id }: FileSubject,
    own: readonly ParsedListedEntry[],
    size: number,
    signal: AbortSignal,
  ): Promise<Reached> {
    const entries: ParsedListedEntry[] = [];
    const people = new Map<string, string>();
    const executionIds = [id];
    const visited = new Set<string>();
    for (const subjectId of executionIds) {
      if (visited.has(subjectId) || visited.size === MAX_RECORDS) continue;
      visited.add(subjectId);
      const ownEntries = own.filter((entry) => entry.subjectId === subjectId);
      const about = ownEntries.length > 0 ? ownEntries : await this.entriesAbout(subjectId, signal);
      // An erasure counts at once, even after the checkpoint.
      entries.push(...about.filter((entry) => entry.sequence <= size || isErasing(entry)));
      executionIds.push(...(await this.idsIn(subjectId, people)), ...about.flatMap(earlierIn));
    }
    return { entries: entries.sort((one, other) => one.sequence - other.sequence), people };
  }

  /** Returns the ids that a record names. @param people receives the person on whose behalf an execution is */
  private async idsIn(id: string, people: Map<string, string>): Promise<string[]> {
    const grant = await this.records.find(GRANT, id, SYSTEM_CALLER);
    const decision = await this.records.find(DECISION, id, SYSTEM_CALLER);
    const execution = await this.records.find(EXECUTION, id, SYSTEM_CALLER);
    const onBehalfOf = execution?.onBehalfOf ?? null;
    const person = onBehalfOf === null ? undefined : personNamedBy(onBehalfOf);
    if (person !== undefined) people.set(id, person);
    const delegationIds = decision?.reviews.flatMap(({ delegationId }) => delegationId ?? []) ?? [];
    const linked = [grant?.decisionId, decision?.executionId, ...delegationIds];
    return [...linked, execution?.decisionId, execution?.grantId, execution?.instead?.grantId].flatMap(
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

  /** Returns the sequence of the entry that made the named revision of the agent. */
  private async sequenceOfAgent({ agentId, revision, sequence }: NamedAgent): Promise<number> {
    const then = await this.past.stateAt(AGENT, agentId, sequence - 1);
    if (then?.record.revision === revision) return then.since;
    throw new Error(
      `Before the entry ${sequence} the agent ${agentId} was not of the revision ${revision}, which it names: the database was altered.`,
    );
  }

  /** Returns the sequence of the entry that created a record. */
  private async sequenceOfRecord({ id, actions, sequence: before }: NamedRecord, signal: AbortSignal): Promise<number> {
    const entries = await this.entriesAbout(id, signal);
    const first = entries.find(({ action }) => actions.includes(action));
    // Refused before anything is sent; later, the response could only be cut short.
    const erased = first?.erased ?? entries.find(isErasing)?.sequence;
    if (erased !== undefined) throw contentErased(id, erased);
    if (first !== undefined && first.sequence < before) return first.sequence;
    throw new Error(
      `Before the entry ${before} there is no ${actions.join(' or ')} of ${id}: the database was altered.`,
    );
  }

  /** Returns the passkeys that signed reviews of a decision up to a checkpoint. */
  private async passkeysOf(decisionId: string, size: number): Promise<NamedRecord[]> {
    const decision = await this.past.findAfter(DECISION, decisionId, size, SYSTEM_CALLER);
    const signatures = (decision?.reviews ?? []).flatMap(({ signature }) => signature ?? []);
    const registered = { actions: ['passkey.registered'], sequence: size };
    return signatures.map(({ passkeyId: id }) => ({ id, ...registered }));
  }

  /** Yields the text in RFC 8785 form: members in the order of their names. */
  private async *text({ subject, checkpoint, sequences, made, rules }: Contents): AsyncGenerator<string> {
    const { member, id } = subject;
    const isChange = member === 'decisionId';
    yield `{"checkpoint":${canonicalJson(checkpoint.text)},${isChange ? `"decisionId":"${id}",` : ''}"entries":[`;
    for (const [index, sequence] of sequences.entries()) {
      yield `${index === 0 ? '' : ','}${canonicalJson(await this.provenEntry(sequence, checkpoint, made))}`;
    }
    yield `],${isChange ? '' : `"executionId":"${id}",`}"format":"${DECISION_FILE_FORMAT}","policies":[`;
    let separator = '';
    for await (const policies of rules.policies) {
      yield separator + policies.join(',');
      separator = ',';
    }
    yield `],"rules":${canonicalJson(rules.sets as unknown as JsonValue)}}`;
  }

  /** @param made range of the entries that the change made, whose contents it may have erased itself */
  private async provenEntry(
    sequence: number,
    checkpoint: IssuedCheckpoint,
    made: MadeRange | null,
  ): Promise<JsonObject> {
    const entry = requireFound(await this.entries.find(sequence), 'provenance entry');
    const isMade = made !== null && sequence >= made.first && sequence <= made.last;
    // The entry was erased after the file was begun.
    if (entry.erased !== null && !isMade) throw contentErased(`the entry ${sequence}`, entry.erased);
    const { tree, hashes } = await this.proofs.inclusion(sequence, checkpoint.size);
    if (tree.rootHash !== checkpoint.rootHash)
      throw new TreeDamagedError(`The tree of ${tree.size} entries is not that of its checkpoint.`);
    return { ...(ProvenanceProofResponse.fromEntry(entry) as unknown as JsonObject), proof: hashes };
  }
}

/** Adds the rules that a change names. Rules that reviews also name are those of the earlier entry. */
function withRules(rules: readonly NamedRules[], ofChange: NamedRules | null): readonly NamedRules[] {
  return ofChange === null ? rules : [ofChange, ...rules.filter(({ hash }) => hash !== ofChange.hash)];
}

function otherFile({ id, executionId }: Decision): DomainError {
  return conflict(
    executionId === null
      ? `The decision ${id} is about no change, so there is no decision file of it.`
      : `The decision ${id} is about an execution: its decision file is /api/v1/executions/${executionId}/evidence.`,
  );
}
