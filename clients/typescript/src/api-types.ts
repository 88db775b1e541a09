import type { components, paths } from './openapi.js';

/** The schemas of the API by their names, such as `Schemas['ExecutionResponse']`. */
export type Schemas = components['schemas'];

export type Execution = Schemas['ExecutionResponse'];
/** The principal for whom an agent acts. */
export type OnBehalfOf = NonNullable<Schemas['ExecuteActionRequest']['onBehalfOf']>;
export type AuditEntry = Schemas['AuditEntryResponse'];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of the API that take a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

export type Operation<M extends Method, P extends PathOf<M>> = paths[P][M];

type PartOf<O, Part extends string> = O extends { parameters: infer All }
  ? Part extends keyof All
    ? Exclude<All[Part], undefined>
    : never
  : never;

type BodyOf<O> = O extends { requestBody?: { content: { 'application/json': infer Body } } } ? Body : never;

/**
 * The answer of the service on success; null for an answer without a body. The status 202 answers a change that needs a
 * second person: the client throws that answer.
 */
export type AnswerOf<O> = O extends { responses: infer All } ? SuccessIn<All> : never;

type SuccessIn<All> = {
  [Status in keyof All]: Status extends 200 | 201 ? JsonIn<All[Status]> : Status extends 204 ? null : never;
}[keyof All];

type JsonIn<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : never;

type Member<Name extends string, Type> = [Type] extends [never]
  ? unknown
  : object extends Type
    ? Readonly<Partial<Record<Name, Type>>>
    : Readonly<Record<Name, Type>>;

/** The parts of a request besides its path template, as the API document names them. */
export type RequestOf<O> = Member<'path', PartOf<O, 'path'>> &
  Member<'query', PartOf<O, 'query'>> &
  Member<'body', BodyOf<O>> &
  RequestOptions;

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Headers such as `If-Match`. A POST gets a new `Idempotency-Key` unless these headers have one. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the approved decision on this very change, which is made now: see `ChangePending`. */
  readonly change?: string;
}

/** Paths that answer with a page: a list of records and how many there are. */
export type PagedPath = {
  [P in PathOf<'get'>]: AnswerOf<Operation<'get', P>> extends { data: unknown[]; total: number } ? P : never;
}[PathOf<'get'>];

export type ItemOf<P extends PagedPath> = AnswerOf<Operation<'get', P>> extends { data: (infer Item)[] } ? Item : never;
