import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type FieldFault, invalid } from '../errors/domain-error';
import { FaultList } from '../errors/fault-list';
import { AnswerRoom } from './answers/answer-room';
import { BodyReader } from './body/body-reader';
import { type JsonBody, parseJsonBody } from './body/json-body';
import { shownKey } from './body/json-path';
import { closeInsteadOfReading, hasUnreadBody } from './body/unread-body';
import { ifMatchFaults } from './conditional/if-match.decorator';
import { idempotencyKeyFaults } from './idempotency/idempotency-key';
import { ListPlaces } from './lists/list-places';
import { parseQueryString, type QueryString } from './query/query-string';
import { routeTraits, type RouteTraits, type TakenPart } from './route-traits';
import { exchangeOf, type ServiceRequest } from './service-request';
import { checkTogether, InputCheck } from './validation/input-check';

/** Bytes from which on others get their turn between the parts of the work on a body. */
const LARGE_BODY = 64 * 1024;
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Last of the guards: reads the body and the query once the others have let the request pass. What no parameter of the
 * handler takes must not be there: a misspelt filter would return everything, a misspelt member would be dropped.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  constructor(
    private readonly bodies: BodyReader,
    private readonly answers: AnswerRoom,
    private readonly lists: ListPlaces,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const [request, response] = exchangeOf(context);
    const traits = routeTraits(context);
    request.traits = traits;
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
    // What was written has to be answered: without room for the answer it must not begin.
    this.answers.refuseAny(request);
    const bytes = await this.bodies.read(request, response);
    const body = bytes === undefined ? undefined : parseJsonBody(bytes);
    // To parse a large one takes long enough for one turn.
    if (bytes !== undefined && bytes.length > LARGE_BODY) await nextTurn();
    provideInput(request, traits, body);
    return true;
  }
}

function provideInput(request: ServiceRequest, traits: RouteTraits, body: JsonBody | undefined): void {
  const query = parseQueryString(request.url);
  const faults = [
    ...(traits.checksIfMatch ? ifMatchFaults(request.headers['if-match']) : []),
    ...idempotencyKeyFaults(request),
    ...query.faults,
    ...unknownNames(query.parameters.keys(), traits.query, unknownParameter),
    ...(body?.faults ?? []),
    ...unknownNames(Object.keys(body?.value ?? {}), traits.body, unknownMember),
  ];
  // Nothing that is found beside them would be told.
  if (FaultList.of(faults).isFull) throw invalid(faults);
  const parts = [...provideQuery(request, traits, query), ...provideBody(request, traits, body)];
  if (faults.length > 0 || parts.length > 1) {
    checkParts(parts, new InputCheck(faults, parts.length));
  }
}

function checkParts(parts: readonly object[], check: InputCheck): void {
  parts.forEach((part) => checkTogether(part, check));
  if (parts.length === 0) {
    check.settle([]);
  }
}

/** Sets `request.query`; answers with what a pipe is going to validate. */
function provideQuery(request: ServiceRequest, traits: RouteTraits, query: QueryString): object[] {
  if (traits.query === 'none') {
    return [];
  }
  const parameters = Object.fromEntries(query.parameters);
  Object.defineProperty(request, 'query', { value: parameters });
  return traits.query === 'whole' ? [parameters] : [];
}

/** Sets `request.body`; answers with what a pipe is going to validate. */
function provideBody(request: ServiceRequest, traits: RouteTraits, body: JsonBody | undefined): object[] {
  const members = body?.value ?? {};
  request.body = members;
  return traits.body === 'whole' ? [members] : [];
}

/** As many as are told. */
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
