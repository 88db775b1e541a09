import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { Pass } from '../../core/concurrency/gate';
import { Configuration } from '../../core/config/configuration';
import { type FieldFault, invalid, MOST_FAULTS } from '../../core/errors/domain-error';
import { leavingSignal } from '../responses/response-end';
import { answersWait } from '../responses/json-adapter';
import { BodyReader, discardBody, isBodyToCome } from '../body/body-reader';
import type { JsonBody } from '../body/json-body';
import { printableKey } from '../body/json-scanner';
import { Gates, holdUntilAnswered } from '../gates';
import { routeNotFound, type TakenPart } from '../request/routes';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { DtoReader } from '../validation/dto';
import { NO_QUERY, parseQueryString, QueryString } from './query-string';

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The last guard. Once the others have let the request pass (ADR 9), it reads body (not for GET and DELETE) and query,
 * and makes DTOs of them, so that all faults of a request are reported at once. A parameter or member that the handler
 * does not take is a fault: a misspelt filter would return everything, and a misspelt member would be dropped.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  constructor(
    private readonly bodies: BodyReader,
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  canActivate(context: ExecutionContext): MaybeLater {
    const [request, response] = context.getArgs<Exchange>();
    const { traits, method } = request;
    if (!traits.isServedWith(this.configuration)) throw routeNotFound();
    if (!traits.readsInput) return true;
    if (METHODS_WITH_BODY.has(method)) return this.readInput(request, response);
    const provided = this.provide(request, undefined);
    return isBodyToCome(request) || traits.isList ? this.enter(request, response, provided) : provided;
  }

  private async readInput(request: ServiceRequest, response: Response): Promise<boolean> {
    this.requireRoomForAnswer(request);
    const body = await this.bodies.read(request, response);
    // The body may have taken long to arrive.
    const refusal = request.caller?.refusal() ?? null;
    if (refusal !== null) throw refusal;
    return this.provide(request, body);
  }

  /** Refuses a write if there is no room for its response. */
  private requireRoomForAnswer({ client }: ServiceRequest): void {
    const answers = this.gates.get('answers');
    if (answers.held === 0) return;
    const pass = answers.tryEnter(client);
    if (pass === null) throw answersWait();
    pass.leave();
  }

  /** Enters the gate for lists. A client that leaves, or whose key ends, gives up its place in the queue. */
  private async enter(request: ServiceRequest, response: Response, provided: MaybeLater): Promise<boolean> {
    await provided;
    if (isBodyToCome(request)) await discardBody(request, response);
    if (!request.traits.isList) return true;
    const { client } = request;
    const lists = this.gates.get('lists');
    const wait = (): Promise<Pass> => lists.enter(client, { signal: leavingSignal(request, response) });
    holdUntilAnswered(request, lists.tryEnter(client) ?? (await wait()));
    return true;
  }

  /** Provides the handler's input; without a promise if there is nothing to validate. */
  private provide(request: ServiceRequest, body: JsonBody | undefined): MaybeLater {
    const { traits, caller } = request;
    const query = request.url.includes('?') ? parseQueryString(request.url, traits.repeatable) : NO_QUERY;
    const faults = inputFaults(request, query, body);
    const members: Record<string, unknown> = body?.value ?? {};
    const { ownAgentMember: own } = traits;
    const agentId = caller?.agentId ?? null;
    // Null counts as absent.
    if (own !== undefined && agentId !== null) members[own] ??= agentId;
    request.body = members;
    if (traits.query.isTaken) request.query = Object.fromEntries(query.parameters);
    request.sent = { body: members, query: request.query };
    const reader = new DtoReader(this.configuration);
    const { dto: queryDto } = traits.query;
    const { dto: bodyDto } = traits.body;
    const queryRead = queryDto === null ? request.query : reader.read(queryDto, request.query, 'query.');
    const bodyRead = bodyDto === null ? members : reader.read(bodyDto, members, '');
    const take = (part: object, input: object): true => {
      const all = together(faults, reader.faults);
      if (all.length > 0) throw invalid(all, isMalformed(body) ? { scimType: 'invalidSyntax' } : {});
      Object.assign(request, { query: part, body: input });
      return true;
    };
    return queryRead instanceof Promise || bodyRead instanceof Promise
      ? Promise.all([Promise.resolve(queryRead), Promise.resolve(bodyRead)]).then((read) => take(...read))
      : take(queryRead, bodyRead);
  }
}

/** Joins faults. A field with a fault is not reported again, for example as missing. */
function together(first: readonly FieldFault[], second: readonly FieldFault[]): FieldFault[] {
  const blamed = new Set(first.map(({ field }) => field));
  return [...first, ...second.filter(({ field }) => !blamed.has(field))];
}

/** True if parts of a body could not be returned as they were sent, whatever their members mean. */
function isMalformed(body: JsonBody | undefined): boolean {
  return body !== undefined && body.faults.length > 0;
}

type MaybeLater = boolean | Promise<boolean>;

/** Returns the faults of the request that its DTOs do not find. */
function inputFaults(request: ServiceRequest, query: QueryString, body: JsonBody | undefined): FieldFault[] {
  const { traits, headers } = request;
  const faults: FieldFault[] = [];
  for (const { name, read, expected } of traits.headers) {
    const header = headers[name.toLowerCase()];
    if (header !== undefined && read(String(header)) === undefined)
      faults.push({ field: `header.${name}`, message: expected });
  }
  if (headers[IDEMPOTENCY_KEY] !== undefined) faults.push(...idempotencyKeyFaults(request));
  if (query !== NO_QUERY) {
    const names = query.parameters.keys();
    faults.push(...query.faults, ...unknownNames(names, traits.query, 'query.', 'is not a parameter of this route'));
  }
  if (body === undefined) return faults;
  const names = Object.keys(body.value);
  return [...faults, ...body.faults, ...unknownNames(names, traits.body, '', 'is not a member of this request')];
}

/** Name of the header, in lower case, as Node presents header names. */
const IDEMPOTENCY_KEY = 'idempotency-key';
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** Returns the faults of the key of a POST. Other methods are idempotent already, so they ignore the header. */
function idempotencyKeyFaults(request: ServiceRequest): readonly FieldFault[] {
  const key = request.method === 'POST' ? request.headers[IDEMPOTENCY_KEY] : undefined;
  if (typeof key !== 'string') return [];
  const field = 'header.Idempotency-Key';
  if (request.traits.answersSecret)
    return [{ field, message: 'must be left out: the answer contains a secret, which is not stored' }];
  if ((request.headersDistinct[IDEMPOTENCY_KEY] ?? []).length > 1) return [{ field, message: 'must be given once' }];
  return VISIBLE_ASCII.test(key)
    ? []
    : [{ field, message: 'must be 1 to 255 visible ASCII characters, without spaces' }];
}

/**
 * Returns faults for names that the route does not know. `DtoReader` reports those of a handler that takes a whole DTO.
 */
function unknownNames(names: Iterable<string>, part: TakenPart, path: string, message: string): FieldFault[] {
  if (part.isWhole) return [];
  const unknown = Array.from(names).filter((name) => !part.names.has(name));
  return unknown.slice(0, MOST_FAULTS).map((name) => ({ field: `${path}${printableKey(name)}`, message }));
}
