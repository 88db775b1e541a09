import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { type FieldFault, invalid, FaultList } from '../../errors/domain-error';
import { isWide } from '../../json/json-builder';
import type { JsonObject } from '../../json/json-value';
import type { Caller } from '../../ledger/caller';
import { AnswerMemory } from '../answers/answer-memory';
import { requireAdmitted } from '../answers/caller-end';
import { BodyReader } from '../body/body-reader';
import { type JsonBody, parseJsonBody } from '../body/json-body';
import { shownKey } from '../body/json-path';
import { closeInsteadOfReading, hasUnreadBody } from '../body/unread-body';
import { ifMatchFaults } from '../conditional/if-match.decorator';
import { IDEMPOTENCY_KEY, readIdempotencyKey } from './idempotency-key';
import { lastEventIdFaults } from './last-event-id.decorator';
import { ListPlaces } from '../lists/list-places';
import { NO_QUERY, parseQueryString, type QueryString } from '../query/query-string';
import type { RouteTraits, TakenPart } from '../request/route-traits';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { checkTogether, InputCheck } from '../validation/request-validation.pipe';
import { TOO_MANY_MEMBERS } from '../validation/unknown-members';

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The last guard: reads body and query once the others have let the request pass. Anything the handler does not take is
 * a fault: a misspelt filter would return everything, a misspelt member would be dropped.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  constructor(
    private readonly bodies: BodyReader,
    private readonly answers: AnswerMemory,
    private readonly lists: ListPlaces,
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
    if (hasUnreadBody(request)) {
      closeInsteadOfReading(request, response);
    }
    provideInput(request, traits, undefined);
    return traits.isList ? this.enterList(request, response) : true;
  }

  private async enterList(request: ServiceRequest, response: Response): Promise<boolean> {
    await this.lists.enter(request, response);
    return true;
  }

  private async readInput(request: ServiceRequest, response: Response, traits: RouteTraits): Promise<boolean> {
    // A write must be answerable: without room for the answer it must not begin.
    this.answers.refuseAny(request);
    const bytes = await this.bodies.read(request, response, traits.bodyLimit);
    const body = bytes === undefined ? undefined : await parseJsonBody(bytes);
    requireAdmitted(request.caller);
    provideInput(request, traits, body);
    return true;
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
  // Where the body is taken whole, validation reports unknown members; listing a hundred thousand names twice would stall others.
  if (traits.body === 'whole') return faults;
  if (isWide(body.value)) faults.push({ field: 'body', message: TOO_MANY_MEMBERS });
  else faults.push(...unknownNames(Object.keys(body.value), traits.body, unknownMember));
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
