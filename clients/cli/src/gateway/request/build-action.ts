import { createHash } from 'node:crypto';
import { credentialQueries } from '../file/credential-rules.js';
import type { JsonObject, Route } from '../file/gateway-config.js';
import { resourcePathFault } from '../../service-rules/resources.js';
import { digestLargeTexts } from '../../large-values.js';
import { hashBody } from './body-hash.js';
import { type BodyParameter, MAX_VALUES, readBodyParameter } from './body-parameter.js';
import { contentTypeText } from './content-type.js';
import { dottedName, type Fields, parseFields, topName } from './fields.js';
import type { RouteMatch } from './match-request.js';
import { bodyAmbiguous, isRefusal, queryAmbiguous, type RequestRefusal, resourceMissing } from './request-refusal.js';
import { inTurns, type WorkOwner } from './turns.js';
import { fillId, fillObject, MissingValueError, namesFrom, type TemplateSources } from './template-value.js';

/** The action that the service is asked to authorise. */
export interface ActionRequest {
  readonly route: Route;
  readonly action: string;
  readonly resource: { readonly type: string; readonly id: string };
  readonly parameters: JsonObject;
  /** Pointers into the parameters. */
  readonly secret: readonly string[];
  /**
   * True for a body that an upstream which skips bodies could take for the next request: the connection ends with it.
   */
  readonly endsConnection: boolean;
}

/** An action without the member that depends on how its body is read. */
type FilledAction = Omit<ActionRequest, 'endsConnection'>;

/** Number of values other than those of the query and body: of the question, the listed headers and `request`. */
const OTHER_VALUES = 100;
const MAX_ID_LENGTH = 500;
/** Names that are compared without a pause. */
const NAMES_IN_STEP = 1_000;

/**
 * Builds the action of a request from its route and its body: the second step, after `matchRequest`.
 * @param body all of its bytes
 * @param digestAbove bytes above which a text becomes a digest
 * @param owner whose turns the reading of a large body takes
 */
export async function buildAction(
  match: RouteMatch,
  body: Buffer,
  digestAbove: number,
  owner: WorkOwner = { agentId: '' },
): Promise<ActionRequest | RequestRefusal> {
  const { route, upstream, headers } = match;
  if (body.length > route.maxBodyBytes) return bodyTooLarge(route);
  const credentialNames = credentialQueries(upstream.credentials);
  const fields = await inTurns(parseFields(match.query ?? '', { credentialNames, isForm: false }), owner);
  if (typeof fields === 'string') return queryAmbiguous(`The query ${fields}.`);
  const needsContent = namesFrom('body', route).length > 0;
  if (match.query !== undefined && !route.allowsQuery && needsContent)
    return queryAmbiguous('A request whose resource or parameters are in its body must have no query here.');
  const maxValues = MAX_VALUES - OTHER_VALUES - (match.query ?? '').split('&').length;
  const content = await readBodyParameter(body, {
    contentType: headers.contentType,
    credentialNames,
    ...{ maxValues, needsContent, owner },
  });
  if (typeof content === 'string') return bodyAmbiguous(`The body ${content}.`);
  const sharedName = await inTurns(findSharedName(fields.names, content.names), owner);
  if (sharedName !== undefined)
    return bodyAmbiguous(
      `The body must not have the name ${JSON.stringify(sharedName)}, which the query has, too: some programs take the one, and some the other.`,
    );
  const hashedBytes = hashedBytesOf(route, fields, content);
  const hash = hashedBytes === undefined ? undefined : await inTurns(hashRequest(match, hashedBytes), owner);
  try {
    const action = fillAction(match, fields, { content, hash });
    if (isRefusal(action)) return action;
    return { ...action, parameters: digestLargeTexts(action.parameters, digestAbove), endsConnection: !content.isRead };
  } catch (error) {
    if (error instanceof MissingValueError) return resourceMissing(error.message);
    throw error;
  }
}

/**
 * A name of the body that a program could take for one of the query; undefined if there is none. Yields where others
 * may be served.
 */
function* findSharedName(
  ofQuery: readonly string[],
  ofBody: readonly string[],
): Generator<undefined, string | undefined, undefined> {
  const names = new Set(ofQuery.flatMap(sharedForms));
  for (let start = 0; names.size > 0 && start < ofBody.length; start += NAMES_IN_STEP) {
    const shared = ofBody
      .slice(start, start + NAMES_IN_STEP)
      .find((name) => sharedForms(name).some((form) => names.has(form)));
    if (shared !== undefined) return shared;
    yield;
  }
  return undefined;
}

/**
 * Returns the names for which programs could take a name of the query or body: its first part, and the whole one
 * without brackets.
 */
function sharedForms(name: string): readonly string[] {
  return [topName(name), dottedName(name).replaceAll(/[ .]/g, '_')];
}

/** A body with the hash of its request, if the action has one. */
interface HashedContent {
  readonly content: BodyParameter;
  readonly hash: string | undefined;
}

/** @throws MissingValueError */
function fillAction(
  match: RouteMatch,
  fields: Fields,
  { content, hash }: HashedContent,
): FilledAction | RequestRefusal {
  const { route } = match;
  const sources: TemplateSources = {
    pathValues: match.pathValues,
    restName: restNameOf(route),
    query: fields.values,
    body: content.content,
  };
  const id = fillId(route.resource.id, sources);
  const fault = resourcePathFault(id);
  if (fault !== undefined) return resourceMissing(`The resource's id ${fault}.`);
  if (id.length > MAX_ID_LENGTH)
    return resourceMissing(`The resource's id must have at most ${MAX_ID_LENGTH} characters.`);
  return {
    route,
    action: route.action,
    resource: { type: route.resource.type, id },
    parameters: parametersOf(match, fields, { content, hash, sources }),
    secret: route.secret,
  };
}

/**
 * The bytes of the body that the hash of the request covers, together with the query; undefined if there is no hash.
 */
function hashedBytesOf(route: Route, fields: Fields, content: BodyParameter): readonly Buffer[] | undefined {
  if (route.parameters !== undefined) return content.hashedBytes;
  // Blanks are "+" to some programs and "%20" to all: the hash of the query tells the two apart.
  return fields.hasPlus ? [] : undefined;
}

function hashRequest({ query }: RouteMatch, hashedBytes: readonly Buffer[]): ReturnType<typeof hashBody> {
  return hashBody(hashedBytes, createHash('sha256').update(`${query ?? ''}\n`, 'latin1'));
}

function parametersOf(
  match: RouteMatch,
  fields: Fields,
  { content, hash, sources }: HashedContent & { readonly sources: TemplateSources },
): JsonObject {
  const { route, query } = match;
  const request = requestOf(match, hash);
  if (route.parameters !== undefined) return { ...fillObject(route.parameters, sources), request };
  return {
    request,
    ...(query !== undefined && { query: fields.values }),
    ...(content.parameter !== undefined && { body: content.parameter }),
  };
}

function requestOf(match: RouteMatch, hash: string | undefined): JsonObject {
  const { upstream, method, path, headers } = match;
  return {
    upstream: upstream.name,
    method,
    path,
    ...(headers.contentType !== undefined && { contentType: contentTypeText(headers.contentType) }),
    ...(Object.keys(headers.listed).length > 0 && { headers: headers.listed }),
    ...(hash !== undefined && { sha256: hash }),
  };
}

/** Returns the name of the final `*name` of a path, the only one whose value may contain "/". */
function restNameOf({ path }: Route): string | undefined {
  return /\/\*(\w+)$/.exec(path)?.[1];
}

function bodyTooLarge({ maxBodyBytes }: Route): RequestRefusal {
  return { status: 413, reason: 'body_too_large', message: `The body may have ${maxBodyBytes} bytes here.` };
}
