import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

/** Holds the application's document, which is made when it is first asked for, since the start need not wait for it. */
@Injectable()
export class ApiDocument {
  private document: OpenAPIObject | null = null;
  private make: (() => OpenAPIObject) | null = null;

  /** Tells how to make the document, once the application stands. */
  madeBy(make: () => OpenAPIObject): void {
    this.make = make;
  }

  get(): OpenAPIObject {
    this.document ??= this.make?.() ?? null;
    if (this.document === null) {
      throw new Error('The document was asked for before the application stood.');
    }
    return this.document;
  }
}
