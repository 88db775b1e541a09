/** Why a request is not sent, before the service was asked. */
export interface RequestRefusal {
  readonly status: number;
  readonly reason: string;
  /** A sentence that says what was refused, and what would be right. */
  readonly message: string;
}

/** True for a refusal, false for the result of a step. */
export function isRefusal(result: object): result is RequestRefusal {
  return 'status' in result && 'reason' in result;
}

export function pathAmbiguous(message: string): RequestRefusal {
  return { status: 400, reason: 'path_ambiguous', message };
}

export function headerAmbiguous(message: string): RequestRefusal {
  return { status: 400, reason: 'header_ambiguous', message };
}

export function queryAmbiguous(message: string): RequestRefusal {
  return { status: 400, reason: 'query_ambiguous', message };
}

export function bodyAmbiguous(message: string): RequestRefusal {
  return { status: 400, reason: 'body_ambiguous', message };
}

export function resourceMissing(message: string): RequestRefusal {
  return { status: 400, reason: 'resource_missing', message };
}
