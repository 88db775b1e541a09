import type { DomainError, ScimType } from '../../core/errors/domain-error';

/** Path below which all responses, including refusals, have the form of SCIM (RFC 7644). */
export const SCIM_PATH = '/scim/v2';
export const SCIM_TYPE = 'application/scim+json; charset=utf-8';

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

export function isScimPath(path: string): boolean {
  return path === SCIM_PATH || path.startsWith(`${SCIM_PATH}/`);
}

/** The body of a refusal below `SCIM_PATH`. */
export function scimErrorBody(error: DomainError, status: number): object {
  const scimType = error.extras.scimType ?? scimTypeOf(error);
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail: error.message,
  };
}

function scimTypeOf({ code, extras }: DomainError): ScimType | undefined {
  if (code !== 'VALIDATION_ERROR') return undefined;
  const isAboutBody = extras.details?.every(({ field }) => field === 'body') ?? true;
  return isAboutBody ? 'invalidSyntax' : 'invalidValue';
}
