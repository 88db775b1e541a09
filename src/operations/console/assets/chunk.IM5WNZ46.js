import{l as e}from"./chunk.NEGRV7HI.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
