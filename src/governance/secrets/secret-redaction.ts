import { Injectable } from '@nestjs/common';
import { TimeSlice, yieldBetween } from '../../core/concurrency/time-slice';
import { Configuration } from '../../core/config/configuration';
import { invalid, invalidField } from '../../core/errors/domain-error';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { SecretPointers } from '../../core/values/secret-pointers';
import type { Caller } from '../../ledger/kinds/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import { agentFor, findAgents, findNamedAgent, requireActsAs } from '../agents/find-agent';
import { hasSecrets, replaceSecrets, reservedFaults, type SealValue, type SecretSearch } from './replacement';
import { SecretKey } from './secret-key';

/** Parameters as a client sent them. */
interface SentParameters {
  readonly parameters: JsonObject;
  /** Pointers to secrets, in addition to those of SECRET_PARAMETERS. */
  readonly secret?: readonly string[] | null | undefined;
}

/** Parameters without their secrets. */
interface RedactedParameters {
  readonly parameters: JsonObject;
  /** The parameters as they were sent, for an action's handler alone; undefined if nothing was replaced. */
  readonly sentParameters?: JsonObject;
}

/** A check as a client sent it, with its agent or subject. */
interface SentQuestion extends SentParameters {
  /** A registered agent by id or name, or another subject. */
  readonly who: { readonly agent: string } | object;
}

/** Recorded parameters of one agent's execution. */
interface RecordedParameters {
  /** Null if the execution does not exist. */
  readonly agentId: string | null;
  readonly parameters: JsonObject;
}

/**
 * Most characters of JSON in which the secrets of one request are replaced: checks may share parameters, each for its
 * agent.
 */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Most characters of the pointers to all secrets of a value: each secret is sealed with its whole pointer. */
const MAX_POINTER_CHARACTERS = 1024 * 1024;

/**
 * Replaces secrets in requests before any other code sees them: records, hashes, comparisons and responses only have
 * the replacements.
 */
@Injectable()
export class SecretRedaction {
  private readonly usual: SecretPointers;

  constructor(
    configuration: Configuration,
    private readonly key: SecretKey,
    private readonly records: RecordReader,
  ) {
    this.usual = new SecretPointers(configuration.secretParameters);
  }

  /**
   * Redacts an action that an agent requests.
   * @param agent its id or name
   * @throws NOT_FOUND or PERMISSION_DENIED if there are secrets and the agent does not exist
   */
  async redactAction(caller: Caller, agent: string, sent: SentParameters): Promise<RedactedParameters> {
    const { parameters } = sent;
    const search = this.searchFor(sent);
    if (!hasSecrets(parameters, search)) return { parameters };
    const registered = await findNamedAgent(caller, this.records, agent);
    const { id } = agentFor(caller, registered, (agentId) => requireActsAs(caller, agentId));
    const redacted = this.redact(parameters, search, id, 'parameters');
    caller.idempotency?.redactMember('parameters', redacted);
    return { parameters: redacted, sentParameters: parameters };
  }

  /**
   * Redacts the checks of one request.
   * @param field member of the request that is at fault if there is too much to replace
   */
  async redactQuestions<Question extends SentQuestion>(
    questions: readonly Question[],
    field: string,
  ): Promise<readonly Question[]> {
    const secretive = await this.withSecrets(questions);
    if (secretive.size === 0) return questions;
    const names = [...secretive.keys()].flatMap(({ who }) => ('agent' in who ? who.agent : []));
    const agents = await findAgents(this.records, new Set(names));
    const redacted = new Map<string, JsonObject>();
    let characters = 0;
    const redactedFor = (question: Question): JsonObject => {
      const { parameters, who } = question;
      // A check for an unknown agent is refused later.
      const id = 'agent' in who ? (agents.get(who.agent)?.id ?? null) : null;
      const shared = secretive.get(question);
      // The key has the agent's name, not the id: the number of characters must not show which agents exist.
      const key = JSON.stringify([shared, 'agent' in who ? who.agent : null]);
      const cached = redacted.get(key);
      if (cached !== undefined) return cached;
      characters += JSON.stringify(parameters).length;
      if (characters > MAX_CHARACTERS)
        throw invalidField(
          field,
          `must be fewer: their secrets, each for its agent, take more than ${MAX_CHARACTERS} characters`,
        );
      const parametersFor = this.redact(parameters, this.searchFor(question), id, field);
      redacted.set(key, parametersFor);
      return parametersFor;
    };
    const all: Question[] = [];
    for await (const question of yieldBetween(questions))
      all.push(secretive.has(question) ? { ...question, parameters: redactedFor(question) } : question);
    return all;
  }

  /**
   * Redacts the result that the handler of an action returned.
   * @param secret pointers in addition to those of SECRET_PARAMETERS
   */
  redactResult(agentId: string, result: JsonValue, secret: readonly string[] = []): JsonValue {
    const search: SecretSearch = { pointers: this.usual.with(secret), below: 'result' };
    return hasSecrets(result, search) ? this.redact(result, search, agentId) : result;
  }

  /**
   * Redacts the result that a caller reports.
   * @param agentOf finds the agent of the execution; null if there is no such execution
   * @param field path of the result in the body
   * @throws VALIDATION_ERROR at the field if there is too much to replace
   */
  async redactReport(result: JsonValue, agentOf: () => Promise<string | null>, field: string): Promise<JsonValue> {
    const search: SecretSearch = { pointers: this.usual, below: 'result' };
    if (!hasSecrets(result, search)) return result;
    return this.redact(result, search, await agentOf(), field);
  }

  /**
   * Redacts the parameters that a reviewer names in place of those of an execution, whose replacements may be repeated.
   * @throws VALIDATION_ERROR for a replacement that the execution does not have at the same pointer
   */
  redactInstead(caller: Caller, parameters: JsonObject, execution: RecordedParameters): JsonObject {
    const { agentId, parameters: recorded } = execution;
    const faults = reservedFaults(parameters, recorded);
    if (faults.length > 0)
      throw invalid(faults.map(({ at, message }) => ({ field: `instead.parameters${at}`, message })));
    const search = { pointers: this.usual, recorded };
    if (!hasSecrets(parameters, search)) return parameters;
    const redacted = this.redact(parameters, search, agentId, 'instead.parameters');
    caller.idempotency?.redactMember('instead', { parameters: redacted });
    return redacted;
  }

  /**
   * True if the service replaces the value at a path, or one that contains it.
   * @param path names, or `*` for each item
   */
  covers(path: readonly string[]): boolean {
    return this.usual.covers(path);
  }

  private searchFor({ secret }: SentParameters): SecretSearch {
    return { pointers: this.usual.with(secret ?? []) };
  }

  /**
   * @param field member of the request that is at fault if the pointers are too long; undefined if no client sent the
   * value
   */
  private redact<Value extends JsonValue>(
    value: Value,
    search: SecretSearch,
    agentId: string | null,
    field?: string,
  ): Value {
    const seal = this.key.sealFor(agentId);
    let characters = 0;
    const countAndSeal: SealValue = (pointer, secret) => {
      characters += pointer.length;
      if (field !== undefined && characters > MAX_POINTER_CHARACTERS)
        throw invalidField(
          field,
          `must have fewer secrets, or shorter names: the pointers to the secrets have more than ${MAX_POINTER_CHARACTERS} characters`,
        );
      return seal(pointer, secret);
    };
    // Parameters stay an object: only their members are replaced.
    return replaceSecrets(value, search, countAndSeal) as Value;
  }

  /** Returns the checks with secrets, each with a number that checks with the same parameters and pointers share. */
  private async withSecrets<Question extends SentQuestion>(
    questions: readonly Question[],
  ): Promise<ReadonlyMap<Question, number>> {
    const secretive = new Map<Question, number>();
    const searched = new Map<JsonObject, Map<string, number | null>>();
    let count = 0;
    const slice = new TimeSlice();
    for (const question of questions) {
      if (slice.isOver) await slice.next();
      const { parameters, secret } = question;
      if (Object.keys(parameters).length === 0) continue;
      const searches = searched.get(parameters) ?? new Map<string, number | null>();
      searched.set(parameters, searches);
      const pointers = JSON.stringify(secret ?? []);
      let shared = searches.get(pointers);
      if (shared === undefined) {
        shared = hasSecrets(parameters, this.searchFor(question)) ? (count += 1) : null;
        searches.set(pointers, shared);
      }
      if (shared !== null) secretive.set(question, shared);
    }
    return secretive;
  }
}
