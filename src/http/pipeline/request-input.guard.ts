import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { type FieldFault, invalid, FaultList } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import type { Caller } from '../../ledger/caller';
import type { Gate, Pass } from '../../core/concurrency/gate';
import { clientLeft, onCallerEnd, requireAdmitted } from '../answers/answer-end';
import { answersWait } from '../answers/json-adapter';
import { BodyReader } from '../body/body-reader';
import type { JsonBody } from '../body/json-body';
import { shownKey } from '../body/json-scanner';
import { discarded, isBodyToCome } from '../body/unread-body';
import { ifMatchFaults } from '../conditional/if-match.decorator';
import { IDEMPOTENCY_KEY, readIdempotencyKey } from './idempotency-key';
import { lastEventIdFaults } from './last-event-id.decorator';
import { clientOf, Gates, holdUntilAnswered } from '../gates';
import { NO_QUERY, parseQueryString, type QueryString } from '../query/query-string';
import type { RouteTraits, TakenPart } from '../request/routes';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { checkTogether, InputCheck } from '../validation/request-validation.pipe';

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The last guard: reads body and query once the others have let the request pass. Anything the handler does not take is
 * a fault: a misspelt filter would return everything, a misspelt member would be dropped.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  constructor(
    private readonly bodies: BodyReader,
    private readonly gates: Gates,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const [request, response] = context.getArgs<Exchange>();
    const { traits } = request;
    if (!traits.readsInput) {
      return true;
    }
    if (METHODS_WITH_BODY.has(request.method)) {
      return this.readInput(request, response, traits);
    }
    const body = isBodyToCome(request) ? discarded(request, response) : null;
    provideInput(request, traits, undefined);
    return body !== null || traits.isList ? this.enter(request, response, body) : true;
  }

  private async enter(request: ServiceRequest, response: Response, body: Promise<void> | null): Promise<boolean> {
    await body;
    if (request.traits.isList) await this.enterList(request, response);
    return true;
  }

  /** A client that leaves, or whose key ends, gives up its place among those that wait. */
  private async enterList(request: ServiceRequest, response: Response): Promise<void> {
    const gate = this.gates.of('lists');
    const pass = gate.tryEnter(clientOf(request)) ?? (await this.turn(gate, request, response));
    holdUntilAnswered(request, pass);
  }

  private async turn(gate: Gate, request: ServiceRequest, response: Response): Promise<Pass> {
    const leaving = new AbortController();
    const onClose = (): void => leaving.abort(clientLeft());
    const stopWatch = request.caller && onCallerEnd(request.caller, (end) => leaving.abort(end));
    response.once('close', onClose);
    try {
      return await gate.enter(clientOf(request), { leaving: leaving.signal });
    } finally {
      stopWatch?.();
      response.off('close', onClose);
    }
  }

  private async readInput(request: ServiceRequest, response: Response, traits: RouteTraits): Promise<boolean> {
    // A write must be answerable: without room for the answer it must not begin.
    this.requireRoomForAnswer(request);
    const body = await this.bodies.read(request, response, traits);
    requireAdmitted(request.caller);
    provideInput(request, traits, body);
    return true;
  }

  private requireRoomForAnswer(request: ServiceRequest): void {
    const answers = this.gates.of('answers');
    if (answers.held === 0) return;
    const pass = answers.tryEnter(clientOf(request));
    if (pass === null) throw answersWait();
    pass.leave();
  }
}

function provideInput(request: ServiceRequest, traits: RouteTraits, body: JsonBody | undefined): void {
  const query = request.url.includes('?') ? parseQueryString(request.url, traits.repeatable) : NO_QUERY;
  const faults = inputFaults(request, traits, query, body);
  // The list of faults is full: no further ones would be reported.
  if (faults.length > 0 && FaultList.of(faults).isFull) throw invalid(faults);
  const parts: object[] = [];
  if (traits.query !== 'none') {
    const parameters = Object.fromEntries(query.parameters);
    request.query = parameters;
    if (traits.query === 'whole') parts.push(parameters);
  }
  const members = withOwnAgent(body?.value ?? {}, traits, request.caller);
  request.body = members;
  if (traits.body === 'whole') parts.push(members);
  if (faults.length > 0 || parts.length > 1) {
    checkParts(parts, new InputCheck(faults, parts.length));
  }
}

/** What is wrong with the request, besides the parts that a pipe is going to validate. */
function inputFaults(
  request: ServiceRequest,
  traits: RouteTraits,
  query: QueryString,
  body: JsonBody | undefined,
): FieldFault[] {
  const faults: FieldFault[] = [];
  if (traits.checksIfMatch) faults.push(...ifMatchFaults(request.headers['if-match']));
  if (traits.checksLastEventId) faults.push(...lastEventIdFaults(request.headers['last-event-id']));
  if (request.headers[IDEMPOTENCY_KEY] !== undefined) faults.push(...readIdempotencyKey(request, traits.answersSecret));
  faults.push(...query.faults);
  if (query.parameters.size > 0) faults.push(...unknownNames(query.parameters.keys(), traits.query, unknownParameter));
  if (body === undefined) return faults;
  faults.push(...body.faults);
  // Where the body is taken whole, validation reports unknown members.
  if (traits.body !== 'whole') faults.push(...unknownNames(Object.keys(body.value), traits.body, unknownMember));
  return faults;
}

function checkParts(parts: readonly object[], check: InputCheck): void {
  parts.forEach((part) => checkTogether(part, check));
  if (parts.length === 0) {
    check.settle([]);
  }
}

/** Null counts as absent. */
function withOwnAgent(
  members: JsonObject,
  { ownAgentMember: name }: RouteTraits,
  caller: Caller | undefined,
): JsonObject {
  const agentId = caller?.agentId ?? null;
  if (name === undefined || agentId === null || (members[name] ?? null) !== null) return members;
  return Object.assign(members, { [name]: agentId });
}

/** As many as are reported. */
function unknownNames(
  given: Iterable<string>,
  taken: TakenPart,
  faultOf: (name: string) => FieldFault,
): readonly FieldFault[] {
  if (taken === 'whole') {
    return [];
  }
  const list = new FaultList();
  for (const name of given) {
    if (list.isFull) break;
    if (taken === 'none' || !taken.has(name)) list.add(faultOf(shownKey(name)));
  }
  return list.faults;
}

function unknownParameter(name: string): FieldFault {
  return { field: `query.${name}`, message: 'is not a parameter of this route' };
}

function unknownMember(name: string): FieldFault {
  return { field: name, message: 'is not a member of this request' };
}
