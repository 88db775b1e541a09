import { type ErrorCode, type ErrorRow, ERRORS } from './error-codes';

/** An error code that a module brings, and what the API document says of it. */
export interface ModuleError {
  /** Such as `INCIDENT_CLOSED`. */
  readonly code: string;
  /** Of HTTP: 400 to 499. */
  readonly status: number;
  /** When it is given, in a sentence. */
  readonly meaning: string;
  /** What its message can look like. */
  readonly example: string;
}

/** Made by `defineErrorCode` alone. The member is never there. */
export type ModuleErrorCode = string & { readonly isOfModule: true };
export type AnyErrorCode = ErrorCode | ModuleErrorCode;

/** By code. Of the process, as answers kept under an idempotency key have the code alone. */
const known = new Map<string, ModuleError>();

/** Makes a code known, and returns it for `new DomainError(…)` and `@ApiErrors(…)`. Each code is defined once. */
export function defineErrorCode(error: ModuleError): ModuleErrorCode {
  const { code, status } = error;
  if (!/^[A-Z][A-Z0-9_]{1,63}$/.test(code))
    throw new Error(`The error code ${code} must be in capitals, such as NOT_HERE.`);
  if (!Number.isInteger(status) || status < 400 || status > 499)
    throw new Error(`The error code ${code} has the status ${status}; a refusal has one from 400 to 499.`);
  if (code in ERRORS || known.has(code)) throw new Error(`The error code ${code} is there already; choose another.`);
  known.set(code, error);
  return code as ModuleErrorCode;
}

/** The row of a code, of the service or of a module. @throws for a code that nobody has defined. */
export function errorRow(code: AnyErrorCode): ErrorRow {
  const ofModule = known.get(code);
  if (ofModule !== undefined) return { ...ofModule, example: { message: ofModule.example } };
  if (code in ERRORS) return ERRORS[code as ErrorCode];
  throw new Error(`The error code ${code} is unknown: define it with defineErrorCode.`);
}
