import { Controller, Get, Header, Redirect, Req, StreamableFile, Injectable } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public, routeNotFound, SetRouteMetadata } from '../request/routes';
import { FOR_EVERYBODY } from '../responses/common-headers';
import { staticFile } from '../responses/static-file';
import { UI_FILES } from './swagger-ui';

/**
 * Holds the application's document as JSON, the same bytes for everybody. It is created on first use, so that startup
 * need not wait.
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
    if (this.make === null) throw new Error('The document was requested before the application was complete.');
    this.json ??= Buffer.from(JSON.stringify(this.make()));
    return this.json;
  }
}

/** The API document and the page that shows it; nothing is loaded from other origins. */
@ApiExcludeController()
@Public()
@SetRouteMetadata({ isServedWith: ({ swaggerEnabled }) => swaggerEnabled })
@Controller()
export class OpenApiController {
  constructor(private readonly document: ApiDocument) {}

  @Get()
  @Redirect('/docs')
  home(): void {
    // The redirect is declared by the decorator.
  }

  @Get('docs/openapi.json')
  openApi(): StreamableFile {
    return new StreamableFile(this.document.get(), { type: 'application/json; charset=utf-8' });
  }

  /** The page, and the files that it loads. */
  @Get([...UI_FILES.keys()])
  @SetRouteMetadata({ isUncounted: true })
  @Header('Cache-Control', FOR_EVERYBODY)
  file(@Req() { path }: Request): StreamableFile {
    const file = UI_FILES.get(path.replaceAll(/^\/|\/$/g, ''));
    if (file === undefined) throw routeNotFound();
    return staticFile(file);
  }

  /** Public like the document, but counted. */
  @Get('docs/:asset')
  nothing(): never {
    throw routeNotFound();
  }
}
