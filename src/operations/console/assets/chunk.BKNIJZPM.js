import{l as e}from"./chunk.B2SCV3H4.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
