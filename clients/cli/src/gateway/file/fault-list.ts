import type { FileFault, FilePath } from './document.js';

/** Collects the faults of a file, so that all are reported at once. */
export class FaultList {
  readonly faults: FileFault[] = [];

  /** @param message follows the path in a sentence, such as "must be a URL" */
  add(path: FilePath, message: string): void {
    this.faults.push({ path, message: `${pathText(path)} ${message}${/[.?]$/.test(message) ? '' : '.'}` });
  }

  /** Adds a fault and returns null, for the reader of the part that has it. */
  reject(path: FilePath, message: string): null {
    this.add(path, message);
    return null;
  }
}

/** A path as a message names it: `upstreams.payments.routes[0].match`. */
export function pathText(path: FilePath): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${plainStep(step)}`)).join('');
  return text.replace(/^\./, '') || 'The file';
}

/** A name in quotes unless it is a plain word, so that it cannot be taken for a part of the message. */
function plainStep(name: string): string {
  return /^[\w$-]+$/.test(name) ? name : JSON.stringify(name);
}
