import{l as e}from"./chunk.RQDWF6TE.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
