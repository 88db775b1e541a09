import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

/**
 * Holds the application's document as JSON, the same bytes for everybody. It is created on first use, as startup need
 * not wait for it.
 */
@Injectable()
export class ApiDocument {
  private json: Buffer | null = null;
  private make: (() => OpenAPIObject) | null = null;

  /** Sets how to create the document, once the application is complete. */
  madeBy(make: () => OpenAPIObject): void {
    this.make = make;
  }

  get(): Buffer {
    if (this.make === null) {
      throw new Error('The document was requested before the application was complete.');
    }
    this.json ??= Buffer.from(JSON.stringify(this.make()));
    return this.json;
  }
}
