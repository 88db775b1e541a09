import { type ErrorCode, type ErrorRow, ERRORS } from './error-codes';

/** An error code defined by a module, and its description for the API document. */
export interface ModuleError {
  /** Such as `INCIDENT_CLOSED`. */
  readonly code: string;
  /** HTTP status: 400 to 499. */
  readonly status: number;
  /** When it is returned, in a sentence. */
  readonly meaning: string;
  /** An example of its message. */
  readonly example: string;
}

/** Only `defineErrorCode` returns this type. The member never exists. */
export type ModuleErrorCode = string & { readonly isOfModule: true };
export type AnyErrorCode = ErrorCode | ModuleErrorCode;

/** By code. Global to the process, as answers stored for an idempotency key only contain the code. */
const known = new Map<string, ModuleError>();

/** Registers a code, and returns it for `new DomainError(…)` and `@ApiErrors(…)`. Each code is defined once. */
export function defineErrorCode(error: ModuleError): ModuleErrorCode {
  const { code, status } = error;
  if (!/^[A-Z][A-Z0-9_]{1,63}$/.test(code))
    throw new Error(`The error code ${code} must be in capitals, such as NOT_HERE.`);
  if (!Number.isInteger(status) || status < 400 || status > 499)
    throw new Error(`The error code ${code} has the status ${status}; a refusal has one from 400 to 499.`);
  if (code in ERRORS || known.has(code)) throw new Error(`The error code ${code} exists already; choose another.`);
  known.set(code, error);
  return code as ModuleErrorCode;
}

/** The row of a code, of the service or of a module. @throws for an undefined code. */
export function errorRow(code: AnyErrorCode): ErrorRow {
  const ofModule = known.get(code);
  if (ofModule !== undefined) return { ...ofModule, example: { message: ofModule.example } };
  if (code in ERRORS) return ERRORS[code as ErrorCode];
  throw new Error(`The error code ${code} is unknown: define it with defineErrorCode.`);
}
